#include "instrumentation/capture/calls/copy_batches.hpp"

#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

#if CUDA_VERSION >= 13000
static_assert(sizeof(shaped_copy) == sizeof(CUDA_MEMCPY3D_BATCH_OP));
static_assert(offsetof(shaped_copy, width) == offsetof(CUDA_MEMCPY3D_BATCH_OP, extent));
static_assert(offsetof(shaped_end, place) == offsetof(CUmemcpy3DOperand, op));
#endif

constexpr std::uint32_t an_address = 1;  // CU_MEMCPY_OPERAND_TYPE_POINTER

constexpr std::size_t max_parts = 4096;
constexpr std::size_t parts_each = 256;
constexpr std::size_t words_each = 3;

gpu_work get_part(const batch_params& p, std::size_t i) { return {p.sources[i], p.destinations[i], p.sizes[i]}; }

gpu_work get_part(const shaped_copy* copies, std::size_t i) {
  const shaped_copy& copy = copies[i];
  const bool counts_bytes = copy.source.type == an_address && copy.destination.type == an_address;
  return {.source = copy.source.place,
          .destination = copy.destination.place,
          .bytes = counts_bytes ? copy.width * copy.height * copy.depth : 0,
          .from_array = copy.source.type != an_address,
          .to_array = copy.destination.type != an_address};
}

template <class Copies>
gpu_work record(const call& c, const Copies& copies, std::size_t count, CUstream stream) {
  if (count == 1) {
    gpu_work only = get_part(copies, 0);
    only.stream = stream;
    return only;
  }
  const gpu_work head = get_part(copies, 0);
  gpu_work whole{.stream = stream,
                 .copies = static_cast<std::uint32_t>(count < UINT32_MAX ? count : UINT32_MAX),
                 .first_source = head.source,
                 .first_destination = head.destination};
  for (std::size_t i = 0; i < count; ++i) whole.bytes += get_part(copies, i).bytes;
  if (!c.ok()) return whole;
  node_place node = captured_node(c, stream);
  std::uint64_t words[parts_each * words_each];
  const std::size_t listed = count < max_parts ? count : max_parts;
  for (std::size_t first = 0; first < listed; first += parts_each) {
    const std::size_t here = listed - first < parts_each ? listed - first : parts_each;
    for (std::size_t i = 0; i < here; ++i) {
      const gpu_work part = get_part(copies, first + i);
      words[i * words_each] = part.source;
      words[i * words_each + 1] = part.destination;
      words[i * words_each + 2] = node.in_graph() ? 0 : part.bytes;
    }
    if (node.in_graph()) {
      if (first != 0) node.node = 0;  // These copies become nodes of their own; the handle is that of the first node.
      touch(c, stream, node, c.name, words, here * words_each);
      continue;
    }
    ring::copy_parts_record out{};
    out.header.time = c.begin;
    out.total = count;
    out.correlation = c.correlation();
    out.first = static_cast<std::uint32_t>(first);
    out.count = here;
    ring::emit_with(&out.header, ring::record_type::copy_parts, sizeof out, words, here * words_each);
  }
  return whole;
}

}  // namespace

gpu_work record_batch(const call& c, const batch_params& p, CUstream stream) {
  if (p.count == 0 || p.sizes == nullptr || p.sources == nullptr || p.destinations == nullptr)
    return {.stream = stream};
  return record(c, p, p.count, stream);
}

gpu_work record_batch(const call& c, const shaped_copy* copies, std::size_t count, CUstream stream) {
  if (copies == nullptr || count == 0) return {.stream = stream};
  return record(c, copies, count, stream);
}

}  // namespace sluice::capture
