// Imports the JSON of rocprofv3 --output-format json, https://github.com/ROCm/rocprofiler-sdk,
// source/lib/output/generateJSON.cpp. Reads the file twice, one record at a time: first the names, then the events.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/import/common/number.hpp"
#include "core/import/importers.hpp"
#include "core/import/json/json_stream.hpp"
#include "core/import/rocm/rows.hpp"

namespace sluice::importing {
namespace rocm {
namespace {

using sdk_token = json_stream::token;

constexpr std::size_t max_members = 4096;                  // The most members per record.
constexpr std::size_t max_names = std::size_t{200} << 20;  // The most bytes of names.
constexpr std::int64_t gpu_agent = 2;                      // ROCPROFILER_AGENT_TYPE_GPU
/// rocprofiler_memory_allocation_operation_t.
enum class memory_operation : std::int64_t { none, allocate, reserve, free, unreserve };

/// A record as its numbers and texts, keyed by their paths such as "dispatch_info.grid_size.x". Lists in a record are
/// ignored.
class sdk_record {
 public:
  /// Reads the record. Call after its opening bracket.
  result<void> read(json_stream& stream) {
    members_.clear();
    std::string path;
    std::vector<std::size_t> outside;
    for (;;) {
      const auto next = stream.next();
      if (!next) return tl::unexpected<error>(next.error());
      switch (*next) {
        case sdk_token::key:
          outside.push_back(path.size());
          if (!path.empty()) path += '.';
          path += stream.text().substr(0, 256);
          continue;
        case sdk_token::begin_object:
          continue;  // The paths of the object's members include this name.
        case sdk_token::end_object:
          if (outside.empty()) return {};
          break;
        case sdk_token::begin_array:
          if (auto skipped = stream.skip(*next); !skipped) return skipped;
          break;
        default:
          if (members_.size() < max_members) members_.emplace_back(path, stream.text().substr(0, 4096));
          break;
      }
      path.resize(outside.back());
      outside.pop_back();
    }
  }

  [[nodiscard]] std::string_view text(std::string_view path) const {
    for (const auto& [name, value] : members_)
      if (name == path) return value;
    return {};
  }
  [[nodiscard]] std::int64_t number(std::string_view path, std::int64_t otherwise = 0) const {
    const std::string_view written = text(path);
    if (written.starts_with("0x")) {
      std::uint64_t value = 0;
      std::from_chars(written.data() + 2, written.data() + written.size(), value, 16);
      return static_cast<std::int64_t>(value);
    }
    return written.empty() ? otherwise : parse_integer(written, true).value_or(otherwise);
  }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

/// The tables that records of one process in a file refer to.
struct sdk_process {
  std::int64_t pid = 0;
  std::string command;
  struct agent {
    std::int64_t id = 0, ordinal = 0;
    bool is_gpu = false;
    std::string name;
  };
  std::vector<agent> agents;
  std::unordered_map<std::int64_t, std::string> kernels;
  std::vector<std::vector<std::string>> operations;       ///< The names of operations, by kind and operation.
  std::unordered_map<std::int64_t, std::string> markers;  ///< The texts of markers, keyed by correlation id.
};

class sdk_importer {
 public:
  explicit sdk_importer(job& work) : work_(work) {}

  result<void> run() {
    auto names = input::open(work_.source().path());
    if (!names) return tl::unexpected<error>(names.error());
    if (auto read = read_file(*names); !read) return read;
    if (auto begun = work_.begin(); !begun) return begun;
    out_.emplace(work_, earliest_ == INT64_MAX ? 0 : earliest_);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i].command.empty()) out_->name_process(processes_[i].pid, processes_[i].command);
      for (const auto& each : processes_[i].agents)
        out_->add_agent({i, each.id}, each.is_gpu, each.ordinal, each.name, 0);
    }
    process_ = 0;
    if (auto read = read_file(work_.source()); !read) return read;
    out_->finish();
    return {};
  }

 private:
  [[nodiscard]] bool names_only() const { return !out_; }

  result<void> read_file(input& source) {
    json_stream stream([&](std::span<std::byte> into) -> result<std::size_t> {
      if (auto ready = work_.advance(source.share_read() * (names_only() ? 0.4 : 1.0)); !ready)
        return tl::unexpected(ready.error());
      return source.read(into);
    });
    auto done = read_document(stream);
    if (done) return done;
    if (source.damage() != nullptr) return tl::unexpected<error>(*source.damage());
    if (done.error().file.empty()) done.error().file = work_.source().path();
    return done;
  }

  /// Calls `use` for each member of an object, after the object's opening bracket. `use` reads the value.
  template <class Use>
  static result<void> members(json_stream& stream, Use use) {
    for (;;) {
      const auto next = stream.next();
      if (!next) return tl::unexpected<error>(next.error());
      if (*next != sdk_token::key) return {};
      const std::string name(stream.text());
      if (auto used = use(name); !used) return used;
    }
  }

  /// Calls `use` with the first token of each element of the next list. `use` reads the rest of the element. Skips
  /// other values.
  template <class Use>
  static result<void> elements(json_stream& stream, Use use) {
    const auto list = stream.next();
    if (!list) return tl::unexpected<error>(list.error());
    if (*list != sdk_token::begin_array) return stream.skip(*list);
    for (;;) {
      const auto next = stream.next();
      if (!next) return tl::unexpected<error>(next.error());
      if (*next == sdk_token::end_array) return {};
      if (auto used = use(*next); !used) return used;
    }
  }

  /// Calls `use` for each object of the next list. Skips other values.
  template <class Use>
  static result<void> objects(json_stream& stream, Use use) {
    return elements(stream,
                    [&](sdk_token first) { return first == sdk_token::begin_object ? use() : stream.skip(first); });
  }

  /// Like `members`, for the next object.
  template <class Use>
  static result<void> members_of_next(json_stream& stream, Use use) {
    const auto next = stream.next();
    if (!next) return tl::unexpected<error>(next.error());
    return *next == sdk_token::begin_object ? members(stream, use) : stream.skip(*next);
  }

  result<void> read_document(json_stream& stream) {
    auto done = members_of_next(stream, [&](const std::string& name) -> result<void> {
      if (name != "rocprofiler-sdk-tool") return stream.skip(sdk_token::key);
      return objects(stream, [&] { return read_process(stream); });
    });
    if (!done) return done;
    const auto behind = stream.next();
    return behind ? result<void>() : tl::unexpected<error>(behind.error());
  }

  result<void> read_process(json_stream& stream) {
    if (names_only()) processes_.emplace_back();
    sdk_process& now = processes_.at(process_);
    auto done = members(stream, [&](const std::string& name) -> result<void> {
      if (name == "buffer_records" || name == "callback_records") {
        return members_of_next(stream, [&](const std::string& kind) {
          return objects(stream, [&]() -> result<void> {
            if (auto read = record_.read(stream); !read) return read;
            take_record(kind, now);
            return {};
          });
        });
      }
      return names_only() ? read_names(stream, name, now) : stream.skip(sdk_token::key);
    });
    ++process_;
    return done;
  }

  result<void> read_names(json_stream& stream, const std::string& name, sdk_process& into) {
    if (name == "metadata") {
      const auto next = stream.next();
      if (!next) return tl::unexpected<error>(next.error());
      if (*next != sdk_token::begin_object) return stream.skip(*next);
      if (auto read = record_.read(stream); !read) return read;
      into.pid = record_.number("pid");
      into.command = record_.text("command");
      return {};
    }
    if (name == "agents") {
      return objects(stream, [&]() -> result<void> {
        if (auto read = record_.read(stream); !read) return read;
        const std::string_view product = record_.text("product_name");
        into.agents.push_back(
            {record_.number("id.handle", -1), record_.number("logical_node_type_id", record_.number("node_id")),
             record_.number("type") == gpu_agent, std::string(product.empty() ? record_.text("name") : product)});
        return hold(128);
      });
    }
    if (name == "kernel_symbols") {
      return objects(stream, [&]() -> result<void> {
        if (auto read = record_.read(stream); !read) return read;
        std::string_view shown = record_.text("formatted_kernel_name");
        if (shown.empty()) shown = record_.text("kernel_name");
        into.kernels[record_.number("kernel_id")] = shown;
        return hold(96 + shown.size());
      });
    }
    return name == "strings" ? read_strings(stream, into) : stream.skip(sdk_token::key);
  }

  result<void> hold(std::size_t bytes) {
    held_ += bytes;
    if (held_ <= std::min(work_.memory_bytes(), max_names)) return {};
    return fail(error_code::unavailable, "its names exceed the memory limit", {}, {});
  }

  /// Reads the names of operations, and the texts of markers.
  result<void> read_strings(json_stream& stream, sdk_process& into) {
    return members_of_next(stream, [&](const std::string& name) -> result<void> {
      if (name == "buffer_records") {
        return objects(stream, [&]() -> result<void> {
          into.operations.emplace_back();
          return members(stream, [&](const std::string& member) -> result<void> {
            return member == "operations" ? read_texts(stream, into.operations.back()) : stream.skip(sdk_token::key);
          });
        });
      }
      if (name != "marker_api") return stream.skip(sdk_token::key);
      return objects(stream, [&]() -> result<void> {
        if (auto read = record_.read(stream); !read) return read;
        into.markers[record_.number("key")] = record_.text("value");
        return hold(96 + record_.text("value").size());
      });
    });
  }

  result<void> read_texts(json_stream& stream, std::vector<std::string>& into) {
    return elements(stream, [&](sdk_token first) -> result<void> {
      into.emplace_back(first == sdk_token::text ? stream.text() : std::string_view());
      if (auto held = hold(sizeof(std::string) + into.back().size()); !held) return held;
      return stream.skip(first);
    });
  }

  // --- records -------------------------------------------------------------------------------------------------------

  void take_record(const std::string& kind, const sdk_process& now) {
    if (names_only()) {
      const std::int64_t begin = record_.number("start_timestamp");
      if (begin > 0) earliest_ = std::min(earliest_, begin);
      return;
    }
    row_origin at;
    at.pid = now.pid;
    at.tid = record_.number("thread_id");
    at.begin = record_.number("start_timestamp", -1);
    at.end = record_.number("end_timestamp", -1);
    at.queue = record_.number("stream_id.handle", -1);
    const std::int64_t correlation = record_.number("correlation_id.internal");
    if (correlation > 0) at.correlation = static_cast<std::uint64_t>(correlation) + (std::uint64_t{process_} << 40U);
    if (kind == "kernel_dispatch") {
      take_kernel(at, now);
    } else if (kind == "memory_copy") {
      take_copy(at, now);
    } else if (kind == "memory_allocation" || kind == "memory_allocations") {
      take_memory(at);
    } else if (kind.ends_with("_api") || kind.ends_with("_api_ext")) {
      take_call(kind, at, now);
    } else {
      work_.not_understood("records of the kind '" + kind.substr(0, 60) + "'");
    }
  }

  [[nodiscard]] std::string_view operation(const sdk_process& now) const {
    const std::int64_t kind = record_.number("kind", -1), which = record_.number("operation", -1);
    if (kind < 0 || which < 0 || static_cast<std::size_t>(kind) >= now.operations.size()) return {};
    const auto& names = now.operations[static_cast<std::size_t>(kind)];
    return static_cast<std::size_t>(which) < names.size() ? std::string_view(names[static_cast<std::size_t>(which)])
                                                          : std::string_view{};
  }

  void take_kernel(row_origin at, const sdk_process& now) {
    at.agent = {process_, record_.number("dispatch_info.agent_id.handle", -1)};
    if (at.queue <= 0) at.queue = record_.number("dispatch_info.queue_id.handle", -1);
    rows::kernel about;
    const auto name = now.kernels.find(record_.number("dispatch_info.kernel_id"));
    if (name != now.kernels.end()) about.name = name->second;
    constexpr std::array<std::string_view, 3> axes = {"x", "y", "z"};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto small = [&](const char* subject) {
        const std::int64_t number =
            record_.number("dispatch_info." + std::string(subject) + "." + std::string(axes[i]));
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, INT32_MAX));
      };
      about.block[i] = small("workgroup_size");
      // The file gives the grid in work items.
      about.grid[i] = about.block[i] == 0 ? 0 : (small("grid_size") + about.block[i] - 1) / about.block[i];
    }
    about.shared =
        static_cast<std::uint64_t>(std::max<std::int64_t>(record_.number("dispatch_info.group_segment_size"), 0));
    out_->add_kernel(at, about);
  }

  void take_copy(const row_origin& at, const sdk_process& now) {
    rows::copy about;
    about.source = {process_, record_.number("src_agent_id.handle", -1)};
    about.destination = {process_, record_.number("dst_agent_id.handle", -1)};
    about.name = operation(now);
    about.bytes = record_.number("bytes", -1);
    out_->add_copy(at, about);
  }

  void take_memory(row_origin at) {
    at.agent = {process_, record_.number("agent_id.handle", -1)};
    std::int64_t address = record_.number("address");
    if (address == 0) address = record_.number("address.value", record_.number("address.handle"));
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(record_.number("allocation_size"), 0));
    const auto where = static_cast<std::uint64_t>(address);
    switch (static_cast<memory_operation>(record_.number("operation"))) {
      case memory_operation::allocate:
        return out_->allocate(at, where, bytes, trace::memory_kind::device, "ROCm");
      case memory_operation::reserve:
        return out_->allocate(at, where, bytes, trace::memory_kind::reservation, "ROCm");
      case memory_operation::free:
      case memory_operation::unreserve:
        return out_->release(at, where);
      default:
        return work_.not_understood("memory events that are neither an allocation nor a free");
    }
  }

  void take_call(const std::string& kind, const row_origin& at, const sdk_process& now) {
    if (kind == "marker_api") {
      const auto text = now.markers.find(record_.number("correlation_id.internal"));
      out_->add_range(at, text == now.markers.end() ? operation(now) : std::string_view(text->second), "ROCTX");
      return;
    }
    const std::string_view name = operation(now);
    out_->add_call(at, name.empty() ? std::string_view(kind) : name);
  }

  job& work_;
  std::optional<rows> out_;
  std::vector<sdk_process> processes_;
  std::size_t process_ = 0;
  std::size_t held_ = 0;
  std::int64_t earliest_ = INT64_MAX;
  sdk_record record_;
};

}  // namespace
}  // namespace rocm

result<void> import_rocprofv3_json(job& work) { return rocm::sdk_importer(work).run(); }

}  // namespace sluice::importing
