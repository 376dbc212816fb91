// A directory of a test's own, for sockets: their paths must be short, and tests run side by side.
#pragma once

#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace kde::testing {

// Removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char name[] = "/tmp/kde_aqp_test_XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string socket_path() const { return path_ + "/socket"; }

 private:
  std::string path_;
};

}  // namespace kde::testing
