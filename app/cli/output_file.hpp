#pragma once

#include <string>

#include "core/error.hpp"

/// The file that a verb is about to write a recording to.
namespace sluice::cli {

/// `stem`.sluice, or with the first number that is free: stem-2.sluice.
[[nodiscard]] std::string free_name(std::string stem);

/// The name that `pattern` stands for, where each process of a set has a recorder of its own: %r is the rank that its launcher
/// put in the environment, %h the host's name, %% a percent sign. Errors: invalid_argument, for %r without a rank and anything else
/// after a percent sign.
[[nodiscard]] result<std::string> name_of_set(const std::string& pattern);

/// Refuses what the user can not have meant: `-o train.py` must not cost anyone a program. Other recordings and empty
/// files may be replaced; anything may with `force`. Errors: invalid_argument.
[[nodiscard]] result<void> check_output(const std::string& path, bool force);

/// Refuses to draw a picture over a recording, or over what is no file. Errors: invalid_argument.
[[nodiscard]] result<void> check_picture(const std::string& path);

}  // namespace sluice::cli
