# Reads the output of `ctest -V`. Prints ctest's own lines and, for suites that failed, the output of their failed
# tests. At the end, prints the number of tests and the reasons why tests were skipped.

# A line of a test program: "12: text" is a line of ctest's test 12.
/^[0-9]+: / {
  id = $1 + 0
  line = $0
  sub(/^[0-9]+: /, "", line)
  # The output of each GoogleTest test is kept until it is known whether the test failed.
  if (line ~ /^\[ RUN      \]/) { kept[id] = kept[id] said[id]; said[id] = "" }
  said[id] = said[id] line "\n"
  if (line ~ /^\[       OK \]/) { said[id] = ""; ++passed }
  if (line ~ /^\[  SKIPPED \] .* ms\)$/) {
    if (in_reason[id]) reason[id] = "no reason given"
    in_reason[id] = 0
    said[id] = ""
    ++skipped
    ++skipped_for[reason[id]]
  }
  if (line ~ /^\[  FAILED  \] .* ms\)$/) ++failed
  # GoogleTest prints "FILE:LINE: Skipped", then the reason.
  if (in_reason[id] && line != "") {
    sub(/^[Ss]kipped: */, "", line)
    reason[id] = line ~ /^\[/ ? "no reason given" : line
    in_reason[id] = 0
  }
  if (line ~ /: Skipped$/) in_reason[id] = 1
  next
}
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
  print
  match($0, /#[0-9]+/)
  id = substr($0, RSTART + 1, RLENGTH - 1) + 0
  if ($0 ~ /\*\*\*/ && $0 !~ /\*\*\*Skipped/) printf "%s%s", kept[id], said[id]
  delete kept[id]
  delete said[id]
  fflush()
  next
}
/^(test [0-9]+$| +Start +[0-9]+:|UpdateCTestConfiguration|Parse|Checking test|Add coverage|Done constructing|Constructing|Test timeout|Added 0 tests)/ { next }
/^The following tests passed:/ { list_of_passed = 1; next }
/^$/ { list_of_passed = 0 }
list_of_passed { next }
/^$/ && !summary { next }
/tests passed/ { summary = 1; print "" }
{ print; fflush() }
END {
  printf "\nThe suites had %d tests: %d passed, %d failed, %d were skipped.\n", passed + failed + skipped, passed, failed, skipped
  for (each in skipped_for) printf "  skipped: %4d  %s\n", skipped_for[each], each | "sort -k 2 -n -r"
}
