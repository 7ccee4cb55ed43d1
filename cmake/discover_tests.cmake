# Read by ctest, through the files that sluice_test() writes: asks a test program for its tests and tells ctest of them.
#
# One suite is one test of ctest's, "<program>.<suite>": its tests run one after another in one process. To start a process takes longer than
# most tests do, and a suite's tests are known to work together. GoogleTest's output names each test that fails or is skipped, and why;
# cmake/ctest_digest.awk counts them. To ctest a suite is skipped when all of its tests are.

cmake_minimum_required(VERSION 3.25)

# A summary of a suite that ran no test: nothing passed, some were skipped, and nothing follows (a failure would).
set(sluice_all_skipped "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\] [^\n]*\n)+$")

# sluice_discover_tests(NAME PROGRAM LIST [LABELS label...] [SLOW suite...] [SPAWNS suite...])
# Writes LIST, which holds ctest's commands, if it is older than PROGRAM, this file or whoever includes it.
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
  # A suite is a line that is not indented and ends in a dot; what its type is may follow.
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
      set(more " COST 100")  # Begins before others, so that nobody waits for it at the end.
    endif()
    string(APPEND commands
      "add_test([=[${name}.${suite}]=] [=[${program}]=] [=[--gtest_filter=${suite}.*]=])\n"
      "set_tests_properties([=[${name}.${suite}]=] PROPERTIES TIMEOUT 1200 LABELS [=[${labels}]=]"
      " SKIP_REGULAR_EXPRESSION [=[${sluice_all_skipped}]=]${more})\n")
  endforeach()
  # A name that no suite has is a mistake: it would label nothing.
  foreach(suite IN LISTS arg_SLOW arg_SPAWNS)
    if(NOT said MATCHES "(^|\n)${suite}\\.[ \n]")
      message(FATAL_ERROR "${name} has no suite ${suite}, which its sluice_test() names")
    endif()
  endforeach()
  file(WRITE "${list}" "${commands}")
endfunction()
