#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/import/import.hpp"
#include "core/trace/file/reader.hpp"

/// Foreign files for tests, and their imports.
namespace sluice::testing {

/// A temporary folder, which the destructor deletes.
class own_folder {
 public:
  own_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-import-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~own_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;

  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, std::string_view bytes) const {
    std::string path = file(name);
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string write_gzip(std::string_view name, std::string_view bytes) const {
    std::string path = file(name);
    gzFile out = gzopen(path.c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    return path;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream ostringstream;
  ostringstream << in.rdbuf();
  return ostringstream.str();
}

/// All rows of type `Row`.
template <class Row>
std::vector<Row> get_rows(const trace::file& file) {
  std::vector<Row> rows;
  const auto read = file.latest()->for_each<Row>([&](const Row& row) { rows.push_back(row); });
  EXPECT_TRUE(read) << read.error().to_string();
  return rows;
}

/// The texts of all messages in a trace.
inline std::vector<std::string> get_messages(const trace::file& file) {
  std::vector<std::string> texts;
  for (const auto& row : get_rows<trace::message_event>(file))
    texts.emplace_back(file.latest()->tables().text(row.text));
  return texts;
}

/// The import's count of `subject`.
inline std::uint64_t to_number(const std::vector<importing::count>& counts, std::string_view subject) {
  for (const auto& each : counts)
    if (each.label == subject) return each.number;
  return 0;
}

}  // namespace sluice::testing
