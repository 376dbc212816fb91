#!/bin/bash
# How large the house is, a figure a line: make counts. Files and functions that are too long are named.
#
# A function is what begins at a line whose first column (or third, of a member in its class) is not blank and
# ends at the "}" of that column: the layout of clang-format. A fork by form is an if, switch or ?: of the glue
# that asks which form a density has: joint or of one column, of words, by groups, with measures.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources() { find src cuda -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' | LC_ALL=C sort; }
lines() { xargs cat | wc -l; }

echo "lines of src and cuda: $(sources | lines)"
echo "lines of test: $(git ls-files test | lines)"
echo "words of README.md and docs: $(cat README.md docs/*.md | wc -w)"

long_files=$(sources | xargs wc -l | awk '$2 != "total" && $1 > 800 {print "  " $2 ": " $1}')
echo "files over 800 lines: $(grep -c . <<<"$long_files")"
[ -z "$long_files" ] || echo "$long_files"

long_functions=$(sources | xargs awk '
  FNR == 1 {open[1] = open[3] = 0}
  { column = match($0, /[^ ]/) }
  (column == 1 || column == 3) && /\) (const |noexcept |override |final |-> [^{]*)*\{$/ &&
    !/^ *(if|for|while|switch|else|do|namespace|extern|}|foreach)/ { open[column] = FNR; name[column] = $0 }
  (column == 1 || column == 3) && /^ *(\w|~)[^;]*\($|^ *(\w|~)[^;={}]*\([^;{}]*,$/ {
    if (!open[column]) { open[column] = FNR; name[column] = $0 } }
  (column == 1 || column == 3) && /;$/ { if (open[column] && !/^ *}/) open[column] = 0 }
  (column == 1 || column == 3) && /^ *}/ {
    if (open[column] && FNR - open[column] >= 80) print "  " FILENAME ": " FNR - open[column] + 1 ":" name[column]
    open[column] = 0 }')
echo "functions over 80 lines: $(grep -c . <<<"$long_functions")"
[ -z "$long_functions" ] || echo "$long_functions"

form='(joint|one_column)\)? [!=]= nullptr|(joint|one_column)\) |(words|grouped|groups|measures)\)? ([!=]=|>) 0|is_(joint|category|grouped)|names_category'
echo "forks by form in the glue: $(find src/pg -name '*.cpp' -o -name '*.h' | xargs grep -hE "(\bif\b|\bswitch\b|\?).*($form)|($form).* \?" | wc -l)"

sql=$(ls sql/kde_aqp--*.sql)
echo "SQL functions: $(grep -oE '^ *(EXECUTE [a-z_.]*\(.)?CREATE (FUNCTION|PROCEDURE|AGGREGATE) [a-z_.]+' "$sql" | awk '{print $NF}' | sort -u | wc -l)"
echo "options: $(grep -c '"kde_aqp\.[a-z_]*"' src/pg/base/options.cpp)"
