#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

/// Errors in core are values, never exceptions. Every error can be shown to the user as a single line.
namespace sluice {

enum class error_code : std::uint16_t {
  not_found,         ///< A file, table row, view or demo does not exist.
  io,                ///< The operating system refused a read, write or open.
  no_space,          ///< The disk is full.
  foreign,           ///< The file is of an unexpected kind, for example not a Sluice trace.
  newer_version,     ///< The file was written by a version of Sluice newer than this one.
  corrupt,           ///< A checksum, length or value is invalid.
  invalid_argument,  ///< An argument is invalid, or the arguments contradict each other.
  unavailable,       ///< The machine lacks something: a driver, a GPU, a display, a library.
  cancelled,         ///< The caller cancelled the request.
};

/// Says what went wrong, where, and how to fix it. Every member except `message` may be empty.
struct error {
  error_code code = error_code::io;
  std::string message;               ///< What happened, and what was expected instead. The text is in lower case,
                                     ///< without a final period.
  std::string file;                  ///< The file, or the name of the call that failed.
  std::uint64_t offset = no_offset;  ///< Byte offset in `file`.
  std::string hint;                  ///< What the user can do.

  static constexpr std::uint64_t no_offset = ~std::uint64_t{0};

  /// Returns the error as one line: "file: at byte N: message; hint".
  [[nodiscard]] std::string to_string() const;
};

/// Returns the description of an errno value. Thread-safe.
[[nodiscard]] std::string describe_errno(int number);

/// What a function that can fail returns: a value of type `T`, or an error.
template <class T>
using result = tl::expected<T, error>;

/// Makes an error that a function can return as its `result`: `return fail(error_code::io, "cannot read", path)`.
[[nodiscard]] inline tl::unexpected<error> fail(error_code code, std::string message, std::string file = {},
                                                std::string hint = {}, std::uint64_t offset = error::no_offset) {
  return tl::unexpected<error>(error{code, std::move(message), std::move(file), offset, std::move(hint)});
}

}  // namespace sluice
