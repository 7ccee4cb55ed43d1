#pragma once
// A journal: what one program's CUDA driver and CUPTI reported, in order.
//
// journal_recorder (tests/device/journal/) writes it on a real GPU; the fake driver and the fake CUPTI
// (tests/instrumentation/capture/fake/) replay it into the capture library on machines without a GPU.
//
//   file    := header entry* ; little endian, unaligned, meant to be compressed as a whole
//   header  := "SLJRNL01" u32 cupti_version u32 driver_version i64 base_ns        (base_ns: CLOCK_MONOTONIC)
//   entry   := u8 entry_type u32 payload_bytes payload
//
//   api      := u32 thread u32 cbid u8 site u32 correlation u32 context_uid u64 context i64 time_ns
//               i32 result u32 name block          site: 0 enter, 1 exit; result: 0 at enter; name: string id or 0
//   resource := u32 thread u32 cbid u64 context u32 context_uid u32 device u64 stream u32 stream_id i64 time_ns
//   buffer   := u32 thread u64 valid_bytes i64 time_ns       bufferCompleted; its records follow
//   record   := u32 kind block                                 one activity record
//   end      := u64 dropped                                    end of that buffer
//   string   := u32 id bytes                                   ids are counted from 1
//   thread   := u32 thread u32 tid
//   device   := u32 ordinal u64 total_bytes bytes[16] uuid i32 major i32 minor u8[64] name u8[32] pci_bus_id
//   note     := bytes                                          a remark of the recorder, for human readers
//   answer   := u32 kind i32 result                            the result of cuptiActivityEnable(kind)
//
//   block    := u32 bytes payload u16 patches patch*
//   patch    := u16 parent u32 offset u32 bytes payload        at `offset` of block `parent` (0: the block
//               itself, n: the nth patch) was a pointer to these bytes. A pointer without bytes (length 0)
//               is replayed as null: its target was not stored.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace sluice::journal {

inline constexpr char magic[9] = "SLJRNL01";

enum class entry_type : std::uint8_t {
  api = 1,
  resource = 2,
  buffer = 3,
  record = 4,
  end = 5,
  string = 6,
  thread = 7,
  device = 8,
  note = 9,
  result = 10,
};

/// The bytes to which a pointer inside a block referred when the journal was recorded.
struct patch {
  std::uint16_t parent = 0;
  std::uint32_t offset = 0;
  std::vector<std::uint8_t> bytes;
};

/// The raw bytes of a parameter struct or a record, and the targets of its pointers.
struct block {
  std::vector<std::uint8_t> bytes;
  std::vector<patch> patches;
};

/// Appends fields to a byte vector in little-endian order.
class byte_writer {
 public:
  template <class T>
  void put(T value) {
    raw(&value, sizeof value);
  }
  void raw(const void* data, std::size_t size) {
    const auto* p = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), p, p + size);
  }
  void put_block(const block& b) {
    put(static_cast<std::uint32_t>(b.bytes.size()));
    raw(b.bytes.data(), b.bytes.size());
    put(static_cast<std::uint16_t>(b.patches.size()));
    for (const patch& p : b.patches) {
      put(p.parent);
      put(p.offset);
      put(static_cast<std::uint32_t>(p.bytes.size()));
      raw(p.bytes.data(), p.bytes.size());
    }
  }

  std::vector<std::uint8_t> bytes;
};

}  // namespace sluice::journal
