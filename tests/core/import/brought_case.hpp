#pragma once

#include "tests/core/import/brought_file.hpp"
#include "tests/core/import/shared_traces.hpp"

/// Imports a file of shared/cases as `file`; skips the test if that folder is missing.
#define SLUICE_BRING_CASE(name)                                             \
  const auto path_of_case = ::sluice::testing::shared_case(name);           \
  if (!path_of_case) GTEST_SKIP() << "there is no shared/cases/" << (name); \
  const ::sluice::testing::brought_file file(*path_of_case)
