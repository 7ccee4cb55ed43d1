// The size of each kind of row in a file: trace_sizes FILE... prints rows, bytes and bytes per row, one group of
// columns per file, so that a generated trace can be compared with recordings. Bytes are as stored: compressed, with
// the headers of their chunks.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "core/trace/file/layout.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::trace {
namespace {

const char* get_name(row_type type) {
  switch (type) {
#define SLUICE_NAME(row, kind) \
  case row_type::kind:         \
    return #kind;
    SLUICE_FOR_EACH_ROW(SLUICE_NAME)
    SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_NAME)
#undef SLUICE_NAME
    default:
      return "other";
  }
}

struct use {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t raw = 0;
};

struct sizes {
  std::string path;
  std::map<row_type, use> kinds;
  use tables, events, summaries;
  std::uint64_t file_bytes = 0;
};

result<sizes> measure(const std::string& path) {
  const auto opened = file::open(path);
  if (!opened) return tl::unexpected<error>(opened.error());
  const auto now = (*opened)->latest();
  sizes whole;
  whole.path = path;
  whole.file_bytes = now->file_bytes();
  const auto add = [&](const chunk_info& chunk, use& total) {
    for (use* into : {&whole.kinds[chunk.type], &total}) {
      into->rows += chunk.rows;
      into->bytes += chunk.stored_bytes + sizeof(chunk_header);
      into->raw += chunk.raw_bytes;
    }
  };
  for (const chunk_info& chunk : now->chunks()) add(chunk, is_table(chunk.type) ? whole.tables : whole.events);
  for (const chunk_info& chunk : now->summaries()) add(chunk, whole.summaries);
  return whole;
}

void print_line(const char* name, const std::vector<use>& uses) {
  std::printf("%-18s", name);
  for (const use& each : uses) {
    if (each.rows == 0) {
      std::printf(" | %10s %11s %7s", "", "", "");
    } else {
      std::printf(" | %10llu %11llu %7.2f", static_cast<unsigned long long>(each.rows),
                  static_cast<unsigned long long>(each.bytes),
                  static_cast<double>(each.bytes) / static_cast<double>(each.rows));
    }
  }
  std::printf("\n");
}

int print(const std::vector<std::string>& paths) {
  std::vector<sizes> items;
  std::map<row_type, bool> kinds;
  for (const std::string& path : paths) {
    auto measured = measure(path);
    if (!measured) {
      std::fprintf(stderr, "trace_sizes: %s\n", measured.error().to_string().c_str());
      return 1;
    }
    for (const auto& [type, unused] : measured->kinds) kinds[type] = true;
    items.push_back(std::move(*measured));
  }
  for (std::size_t i = 0; i < items.size(); ++i) std::printf("%zu: %s\n", i + 1, items[i].path.c_str());
  std::printf("%-18s", "");
  for (std::size_t i = 0; i < items.size(); ++i) std::printf(" | %10s %11s %7s", "rows", "bytes", "b/row");
  std::printf("\n");
  std::vector<use> line(items.size());
  for (const auto& [type, unused] : kinds) {
    for (std::size_t i = 0; i < items.size(); ++i) line[i] = items[i].kinds[type];
    print_line(get_name(type), line);
  }
  for (std::size_t i = 0; i < items.size(); ++i) line[i] = items[i].tables;
  print_line("tables", line);
  for (std::size_t i = 0; i < items.size(); ++i) line[i] = items[i].events;
  print_line("events", line);
  for (std::size_t i = 0; i < items.size(); ++i) line[i] = items[i].summaries;
  print_line("summaries", line);
  // An event's share of the whole file: tables, index and summaries exist only for events.
  for (std::size_t i = 0; i < items.size(); ++i) line[i] = {items[i].events.rows, items[i].file_bytes, 0};
  print_line("file per event", line);
  return 0;
}

}  // namespace
}  // namespace sluice::trace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: trace_sizes FILE...\n");
    return 2;
  }
  return sluice::trace::print({argv + 1, argv + argc});
}
