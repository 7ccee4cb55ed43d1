#include "tests/instrumentation/capture/journal_reader.hpp"

#include <zlib.h>

#include <stdexcept>

#include "instrumentation/capture/process/activity_layout.hpp"

namespace sluice::journal {
namespace {

class byte_reader {
 public:
  byte_reader(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool empty() const { return at_ == end_; }
  const std::uint8_t* raw(std::size_t size) {
    if (size > static_cast<std::size_t>(end_ - at_)) throw std::runtime_error("journal: truncated");
    const std::uint8_t* found = at_;
    at_ += size;
    return found;
  }
  template <class T>
  void get(T& value) {
    std::memcpy(&value, raw(sizeof value), sizeof value);
  }
  template <class T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  std::vector<std::uint8_t> bytes(std::size_t size) {
    const std::uint8_t* data = raw(size);
    return {data, data + size};
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  block get_block() {
    block b;
    b.bytes = bytes(get<std::uint32_t>());
    b.patches.resize(get<std::uint16_t>());
    for (patch& p : b.patches) {
      get(p.parent);
      get(p.offset);
      p.bytes = bytes(get<std::uint32_t>());
    }
    return b;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

std::vector<std::uint8_t> read_whole(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + ": cannot be opened");
  std::vector<std::uint8_t> data;
  std::uint8_t chunk[65536];
  for (int n = 0; (n = gzread(file, chunk, sizeof chunk)) > 0;) data.insert(data.end(), chunk, chunk + n);
  gzclose(file);
  return data;
}

api_edge read_api(byte_reader& in) {
  api_edge e;
  in.get(e.thread);
  in.get(e.cbid);
  in.get(e.site);
  in.get(e.correlation);
  in.get(e.context_uid);
  in.get(e.context);
  in.get(e.time_ns);
  in.get(e.result);
  in.get(e.name);
  e.params = in.get_block();
  return e;
}

resource_edge read_resource(byte_reader& in) {
  resource_edge e;
  in.get(e.thread);
  in.get(e.cbid);
  in.get(e.context);
  in.get(e.context_uid);
  in.get(e.device);
  in.get(e.stream);
  in.get(e.stream_id);
  in.get(e.time_ns);
  return e;
}

}  // namespace

journal read(const std::string& path) {
  const std::vector<std::uint8_t> data = read_whole(path);
  byte_reader in(data.data(), data.size());
  if (data.size() < 24 || std::memcmp(in.raw(8), magic, 8) != 0) throw std::runtime_error(path + ": not a journal");
  journal j;
  in.get(j.cupti_version);
  in.get(j.driver_version);
  in.get<std::int64_t>();
  while (!in.empty()) {
    const auto type = static_cast<entry_type>(in.get<std::uint8_t>());
    const auto size = in.get<std::uint32_t>();
    byte_reader payload(in.raw(size), size);
    switch (type) {
      case entry_type::api:
        j.entries.emplace_back(read_api(payload));
        break;
      case entry_type::resource:
        j.entries.emplace_back(read_resource(payload));
        break;
      case entry_type::record: {
        activity_record r;
        payload.get(r.kind);
        r.bytes = payload.get_block();
        j.entries.emplace_back(std::move(r));
        break;
      }
      case entry_type::string: {
        const auto id = payload.get<std::uint32_t>();
        const std::size_t length = payload.left();
        j.strings[id] = std::string(reinterpret_cast<const char*>(payload.raw(length)), length);
        break;
      }
      default:
        break;
    }
  }
  return j;
}

record_layout get_layout(std::uint32_t kind) {
  namespace layout = capture::layout;
  switch (kind) {
    case layout::kind_memcpy:
      return {offsetof(layout::memcpy_prefix, start), offsetof(layout::memcpy_prefix, end),
              offsetof(layout::memcpy_prefix, correlation), 0};
    case layout::kind_memcpy_peer:
      return {offsetof(layout::memcpy_peer_prefix, start), offsetof(layout::memcpy_peer_prefix, end),
              offsetof(layout::memcpy_peer_prefix, correlation), 0};
    case layout::kind_memset:
      return {offsetof(layout::memset_prefix, start), offsetof(layout::memset_prefix, end),
              offsetof(layout::memset_prefix, correlation), 0};
    case layout::kind_concurrent_kernel:
      return {offsetof(layout::kernel_prefix, start), offsetof(layout::kernel_prefix, end),
              offsetof(layout::kernel_prefix, correlation), offsetof(layout::kernel_prefix, name)};
    case layout::kind_graph_trace:
      return {offsetof(layout::graph_trace_prefix, start), offsetof(layout::graph_trace_prefix, end),
              offsetof(layout::graph_trace_prefix, correlation), 0};
    case layout::kind_unified_memory_counter:
      return {offsetof(layout::migration_prefix, start), offsetof(layout::migration_prefix, end), 0, 0};
    case layout::kind_device:
      return {0, 0, 0, offsetof(layout::device_prefix, name)};
    default:
      return {};
  }
}

}  // namespace sluice::journal
