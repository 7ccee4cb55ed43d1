#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/writer/session/session.hpp"

/// Helpers shared by tests of recordings.
namespace sluice::writer {

/// A temporary folder, which the destructor deletes.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// A recorded trace, read back.
class recorded {
 public:
  explicit recorded(const std::string& path) {
    auto file = trace::file::open(path);
    if (!file) {
      ADD_FAILURE() << file.error().to_string();
      return;
    }
    snapshot_ = (*file)->latest();
  }

  template <class Row>
  [[nodiscard]] std::vector<Row> all() const {
    std::vector<Row> rows;
    const auto read = snapshot_->for_each<Row>([&](const Row& row) { rows.push_back(row); });
    EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().to_string());
    return rows;
  }
  [[nodiscard]] std::string text(trace::string_id id) const { return std::string(snapshot_->tables().text(id)); }
  [[nodiscard]] const trace::tables& tables() const { return snapshot_->tables(); }
  [[nodiscard]] const trace::snapshot& snapshot() const { return *snapshot_; }

 private:
  std::shared_ptr<const trace::snapshot> snapshot_;
};

/// A recording that this process makes of itself.
class recording {
 public:
  explicit recording(session_options options = {}) : path_(folder_.file("t.sluice")) {
    auto s = session::start(path_, options);
    if (!s) {
      ADD_FAILURE() << s.error().to_string();
      return;
    }
    session_ = std::make_unique<session>(std::move(*s));
  }

  [[nodiscard]] const char* socket() const { return session_->socket_name().c_str(); }
  [[nodiscard]] session& live() { return *session_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Ends the recording and reads it back.
  [[nodiscard]] recorded finish() {
    auto ended = session_->stop();
    if (ended) {
      summary = *ended;
    } else {
      ADD_FAILURE() << ended.error().to_string();
    }
    return recorded(path_);
  }

  session_summary summary;

 private:
  temporary_folder folder_;
  std::string path_;
  std::unique_ptr<session> session_;
};

}  // namespace sluice::writer
