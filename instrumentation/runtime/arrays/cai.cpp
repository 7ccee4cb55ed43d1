#include "instrumentation/runtime/cai.hpp"

#include <fmt/format.h>

#include <charconv>

namespace sluice::runtime {

namespace {

constexpr const char* cai_call = "import_cai";

struct kind_letter {
  char letter;
  element_kind kind;
};
constexpr kind_letter letters[] = {{'i', element_kind::integer},
                                   {'u', element_kind::unsigned_integer},
                                   {'f', element_kind::floating},
                                   {'c', element_kind::complex},
                                   {'b', element_kind::boolean}};

element_type get_type(const std::string& text) {
  const auto unknown = [&] {
    refuse(cai_call,
           fmt::format("element type '{}': expected a byte order, one of i u f c b, and a size in bytes", text));
  };
  unsigned bytes = 0;
  if (text.size() < 3 || text.size() > 5) unknown();
  const auto [end, failed] = std::from_chars(text.data() + 2, text.data() + text.size(), bytes);
  if (failed != std::errc() || end != text.data() + text.size() || bytes == 0 || bytes > 32) unknown();
  if (text[0] != '<' && !(text[0] == '|' && bytes == 1)) {
    refuse(cai_call, fmt::format("element type '{}': expected little-endian elements", text));
  }
  for (const kind_letter& k : letters) {
    if (k.letter == text[1]) return {k.kind, static_cast<std::uint16_t>(8 * bytes)};
  }
  unknown();
  return {};
}

std::string to_text(element_type type) {
  for (const kind_letter& k : letters) {
    if (k.kind == type.kind) return fmt::format("{}{}{}", type.bytes() == 1 ? '|' : '<', k.letter, type.bytes());
  }
  refuse("export_cai", fmt::format("the CUDA array interface cannot express {}; use DLPack", to_string(type)));
}

// Makes `stream` wait for the exporter's stream. The interface numbers streams like the driver.
void wait_for(std::int64_t exporter, const stream_ref& stream) {
  if (exporter == 0) refuse(cai_call, "stream 0 is ambiguous: use 1 (legacy) or 2 (per-thread default stream)");
  const stream_ref other = exporter == 1
                               ? stream_ref(stream.device())
                               : stream_ref::from_native(stream.device(), static_cast<std::uintptr_t>(exporter));
  if (other == stream) return;
  event ready(stream.device());
  ready.record(other);
  stream.wait(ready);
}

}  // namespace

any_array import_cai(const cai_description& description, memory_owner owner, const stream_ref& stream) {
  if (description.version < 2) refuse(cai_call, fmt::format("version {}: expected 2 or later", description.version));
  if (description.masked) refuse(cai_call, "masked arrays are not supported");
  foreign_array foreign;
  foreign.type = get_type(description.typestr);
  foreign.extents = description.shape;
  foreign.strides.resize(description.shape.size());
  foreign.data = reinterpret_cast<void*>(description.data);
  foreign.read_only = description.read_only;
  const std::size_t item = foreign.type.bytes();
  (void)element_count(foreign.extents, item, cai_call);
  if (!description.strides) {
    dense_strides(foreign.extents, storage_order::c, foreign.strides);
  } else {
    if (description.strides->size() != description.shape.size()) {
      refuse(cai_call, fmt::format("{} extents but {} strides", description.shape.size(), description.strides->size()));
    }
    for (std::size_t axis = 0; axis < description.shape.size(); ++axis) {
      const std::int64_t bytes = (*description.strides)[axis];
      if (bytes % static_cast<std::int64_t>(item) != 0) {
        refuse(cai_call, fmt::format("stride {} is not a multiple of the element size, {} bytes", bytes, item));
      }
      foreign.strides[axis] = bytes / static_cast<std::int64_t>(item);
    }
  }
  any_array out = checked_array(foreign, stream.device(), cai_call).owned_by(std::move(owner));
  if (description.stream) wait_for(*description.stream, stream);
  return out;
}

cai_description export_cai(const any_array& array) {
  cai_description out;
  out.shape = array.extents();
  out.typestr = to_text(array.type());
  out.data = reinterpret_cast<std::uintptr_t>(array.data());
  out.read_only = array.read_only();
  if (!array.is_contiguous(storage_order::c)) {
    out.strides = array.strides();
    for (std::int64_t& stride : *out.strides) stride *= static_cast<std::int64_t>(array.type().bytes());
  }
  return out;
}

cai_description export_cai(const any_array& array, const stream_ref& stream) {
  cai_description out = export_cai(array);
  out.stream = stream.get() == 0 ? 1 : static_cast<std::int64_t>(stream.get());
  return out;
}

}  // namespace sluice::runtime
