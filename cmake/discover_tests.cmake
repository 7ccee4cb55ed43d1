# ctest reads this file through the files that sluice_test() writes. It asks a test program for its tests and registers
# them with ctest.
#
# One suite of GoogleTest is one test of ctest, "<program>.<suite>". Its tests run one after another in one process,
# because starting a process takes longer than most tests, and a suite's tests work together. GoogleTest's output names
# each test that fails or is skipped, and the reason. cmake/ctest_digest.awk counts the tests. ctest reports a suite as
# skipped if all of its tests are skipped.

cmake_minimum_required(VERSION 3.25)

# The summary of a suite whose tests were all skipped: no test passed, some were skipped, and no line follows (a failed
# test would add lines).
set(sluice_all_skipped "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\] [^\n]*\n)+$")

# sluice_discover_tests(NAME PROGRAM LIST [LABELS label...] [SLOW suite...] [SPAWNS suite...])
# Writes LIST, which contains ctest's commands, if it is older than PROGRAM, this file or the file that includes this
# file.
function(sluice_discover_tests name program list)
  if(EXISTS "${list}" AND "${list}" IS_NEWER_THAN "${program}" AND "${list}" IS_NEWER_THAN "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
     AND "${list}" IS_NEWER_THAN "${CMAKE_CURRENT_LIST_FILE}")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LABELS;SLOW;SPAWNS")
  execute_process(COMMAND "${program}" --gtest_list_tests TIMEOUT 60 RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said_too)
  if(failed)
    message(FATAL_ERROR "${program} cannot list its tests (${failed}):\n${said}${said_too}")
  endif()
  # A suite is a line that is not indented and ends in a dot. The suite's type may follow.
  string(REGEX MATCHALL "\n[^ \n]+\\.( [^\n]*)?" suites "\n${said}")
  set(commands "")
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE "^\n([^ ]+)\\..*" "\\1" suite "${suite}")
    set(labels ${arg_LABELS})
    set(more "")
    if(suite IN_LIST arg_SPAWNS)
      list(APPEND labels spawns)
    endif()
    if(suite IN_LIST arg_SLOW)
      list(APPEND labels slow)
      set(more " COST 100")  # Slow suites start first, so that the run does not wait for them at the end.
    endif()
    string(APPEND commands
      "add_test([=[${name}.${suite}]=] [=[${program}]=] [=[--gtest_filter=${suite}.*]=])\n"
      "set_tests_properties([=[${name}.${suite}]=] PROPERTIES TIMEOUT 1200 LABELS [=[${labels}]=]"
      " SKIP_REGULAR_EXPRESSION [=[${sluice_all_skipped}]=]${more})\n")
  endforeach()
  # A name that matches no suite is a mistake, because it would label nothing.
  foreach(suite IN LISTS arg_SLOW arg_SPAWNS)
    if(NOT said MATCHES "(^|\n)${suite}\\.[ \n]")
      message(FATAL_ERROR "${name} has no suite ${suite}, which its sluice_test() names")
    endif()
  endforeach()
  file(WRITE "${list}" "${commands}")
endfunction()
