#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::testing {

/// Copies the rows of one chunk to another file.
inline void copy_chunk(const trace::snapshot& recording, std::size_t chunk, trace::file_writer& to) {
  switch (recording.chunks()[chunk].type) {
#define SLUICE_COPY(row, kind)                                 \
  case trace::row_type::kind: {                                \
    std::vector<trace::row> rows;                              \
    ASSERT_TRUE(recording.read_into<trace::row>(chunk, rows)); \
    for (const trace::row& each : rows) to.add(each);          \
    break;                                                     \
  }
    SLUICE_FOR_EACH_ROW(SLUICE_COPY)
#undef SLUICE_COPY
    default:
      break;
  }
}

/// Copies all tables and events to another file, but no summaries.
inline void copy_rows(const trace::snapshot& recording, trace::file_writer& to) {
  for (std::size_t i = 0; i < recording.chunks().size(); ++i) copy_chunk(recording, i, to);
}

}  // namespace sluice::testing
