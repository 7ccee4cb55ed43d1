// Imports bytes as XLA's files: pprof heap profiles and XSpaces.
#include <protozero/pbf_writer.hpp>

#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::xla_files {
namespace {

using protozero::pbf_writer;

void run(std::span<const std::uint8_t> input) {
  const std::string content(input.begin(), input.end());
  import_bytes(content);
  // After a valid header, so that mutations of the header also reach the rest.
  import_bytes(std::string("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04", 12) + content);
  import_bytes(std::string("\x0a\x0d\x12\x0b/host:CPU:0", 15) + content);
}

std::string profile() {
  std::string bytes;
  pbf_writer out(bytes);
  for (const int type : {1, 3}) {
    pbf_writer inner(out, 1);
    inner.add_int64(1, type);
    inner.add_int64(2, type + 1);
  }
  {
    pbf_writer sample(out, 2);
    const std::vector<std::uint64_t> numbers{1, 64};
    sample.add_packed_uint64(1, numbers.begin(), numbers.end());
    sample.add_packed_uint64(2, numbers.begin(), numbers.end());
    pbf_writer label(sample, 3);
    label.add_int64(1, 5);
    label.add_int64(2, 6);
  }
  {
    pbf_writer place(out, 4);
    place.add_uint64(1, 1);
    pbf_writer line(place, 4);
    line.add_uint64(1, 1);
    line.add_int64(2, 14);
  }
  {
    pbf_writer function(out, 5);
    function.add_uint64(1, 1);
    function.add_int64(2, 7);
    function.add_int64(4, 7);
  }
  for (const char* text : {"", "allocations", "count", "space", "bytes", "device", "gpu:0", "f.py"})
    out.add_string(6, text);
  return bytes;
}

void add_name(pbf_writer& plane, std::uint32_t map, std::int64_t id, const char* name) {
  pbf_writer item(plane, map);
  item.add_int64(1, id);
  pbf_writer inner(item, 2);
  inner.add_string(2, name);
}

std::string space() {
  std::string bytes;
  pbf_writer out(bytes);
  pbf_writer plane(out, 1);
  plane.add_string(2, "/device:GPU:0");
  {
    pbf_writer line(plane, 3);
    line.add_int64(1, 13);
    line.add_string(2, "Stream #13");
    line.add_int64(3, 1000);
    pbf_writer event(line, 4);
    event.add_int64(1, 1);
    event.add_int64(2, 500);
    event.add_int64(3, 700);
    pbf_writer stat(event, 4);
    stat.add_int64(1, 1);
    stat.add_uint64(7, 2);
  }
  add_name(plane, 4, 1, "fusion");
  add_name(plane, 5, 1, "kernel_details");
  add_name(plane, 5, 2, "regs:32 grid:256,1,1");
  return bytes;
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  for (const std::string& each : {profile(), space()}) items.emplace_back(each.begin(), each.end());
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::xla_files

sluice::fuzz::target sluice::fuzz::xla_files_target() { return {"xla_files", xla_files::run, xla_files::seeds}; }
