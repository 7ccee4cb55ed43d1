#pragma once

#include <cstdint>
#include <string_view>

/// Names of Linux's system calls on x86-64, the only processor on which the recorder runs.
namespace sluice::trace {

/// Returns the name of a system call ("futex"); empty if the number is negative or unknown.
[[nodiscard]] std::string_view name_of_system_call(std::int64_t number);

}  // namespace sluice::trace
