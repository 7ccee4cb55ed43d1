#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "tests/core/import/brought_file.hpp"

namespace sluice::testing {

/// The bytes of the SQLite file that these statements create.
inline std::string make_database(const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  char* met = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &met), SQLITE_OK) << met;
  sqlite3_int64 size = 0;
  unsigned char* const content = sqlite3_serialize(db, "main", &size, 0);
  std::string bytes(reinterpret_cast<const char*>(content), static_cast<std::size_t>(size));
  sqlite3_free(content);
  sqlite3_close(db);
  return bytes;
}

}  // namespace sluice::testing
