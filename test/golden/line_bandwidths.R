# Bandwidths for test/unit/{sheather_jones,line_rules}_test.cpp, and R's own beside them.
#
#   Rscript test/golden/line_bandwidths.R
#
# Made with R 4.2.2 and ks 1.14.0. `exact` sums over all pairs in double with no bins; stats::bw.SJ
# always bins, so its column, with 50,000 bins, shows how near that comes. R is needed for this alone,
# never to build or test.
suppressMessages(library(ks))

pairs_mean <- function(x, g, f) {
  total <- 0
  for (xi in x) total <- total + sum(f((xi - x) / g))
  total
}
k4 <- function(z) (z^4 - 6 * z^2 + 3) * dnorm(z)
k6 <- function(z) (z^6 - 15 * z^4 + 45 * z^2 - 15) * dnorm(z)

sheather_jones <- function(x) {
  n <- length(x)
  s <- min(sd(x), IQR(x) / 1.349)
  S <- function(g) pairs_mean(x, g, k4) / (n * (n - 1) * g^5)
  T <- function(g) -pairs_mean(x, g, k6) / (n * (n - 1) * g^7)
  alpha <- 1.357 * (S(1.24 * s * n^(-1 / 7)) / T(1.23 * s * n^(-1 / 9)))^(1 / 7)
  f <- function(h) (1 / (2 * sqrt(pi) * n * S(alpha * h^(5 / 7))))^(1 / 5) - h
  hmax <- 1.144 * s * n^(-1 / 5)
  # The root next below: with rounded values there may be others.
  upper <- 2 * hmax
  while (f(upper) * f(0.9 * upper) > 0) upper <- 0.9 * upper
  uniroot(f, c(0.9, 1) * upper, tol = 1e-13 * hmax)$root
}

# ks::hscv's criterion without bins, minimised more finely than its optimise() does.
smoothed_cv <- function(x) {
  n <- length(x)
  psi <- function(r, g) ks:::dnorm.deriv.sum(x, sigma = g, deriv.order = r, inc = 1, binned = FALSE) / n^2
  psi6 <- psi(6, (2 / (7 * n))^(1 / 9) * sqrt(2) * sd(x))
  psi10 <- psi(10, (2 / (11 * n))^(1 / 13) * sqrt(2) * sd(x))
  psi4 <- psi(4, (-6 / (sqrt(2 * pi) * psi6 * n))^(1 / 7))
  psi8 <- psi(8, (-210 / (sqrt(2 * pi) * psi10 * n))^(1 / 11))
  C <- (441 / (64 * pi))^(1 / 18) * (4 * pi)^(-1 / 5) * psi4^(-2 / 5) * psi8^(-1 / 9)
  f <- function(h) {
    g <- C * n^(-23 / 45) * h^(-2)
    1 / (2 * sqrt(pi) * n * h) + psi(0, sqrt(2 * h^2 + 2 * g^2)) -
      2 * psi(0, sqrt(h^2 + 2 * g^2)) + psi(0, sqrt(2) * g)
  }
  hnorm <- (4 / (3 * n))^(1 / 5) * sd(x)
  optimise(f, c(0.1, 2) * hnorm, tol = 1e-10 * hnorm)$minimum
}

columns <- list(
  eruptions = faithful$eruptions, waiting = faithful$waiting,
  quakes_lat = quakes$lat, quakes_long = quakes$long, quakes_depth = quakes$depth,
  quakes_mag = quakes$mag,
  iris_sepal_length = iris$Sepal.Length, iris_sepal_width = iris$Sepal.Width,
  iris_petal_length = iris$Petal.Length, iris_petal_width = iris$Petal.Width)

for (name in names(columns)) {
  x <- columns[[name]]
  cat(sprintf("%-18s nrd %.12g | sj exact %.12g bw.SJ %.8g | scv exact %.10g hscv unbinned %.8g\n",
              name, bw.nrd(x), sheather_jones(x), bw.SJ(x, nb = 50000, method = "ste", tol = 1e-9),
              smoothed_cv(x), hscv(x, binned = FALSE)))
}
