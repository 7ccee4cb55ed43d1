#include "instrumentation/capture/blocks/live_blocks.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/records.hpp"

namespace sluice::capture::live_blocks {

SLUICE_HOT_DATA constinit std::atomic<std::uint64_t> detail::lowest{~std::uint64_t{0}};
SLUICE_HOT_DATA constinit std::atomic<std::uint64_t> detail::highest{0};

namespace {

using trace::layer;
using trace::memory_kind;

constexpr unsigned address_bits = 47, node_bits = 33, region_bits = 21, granule_bits = 8;
constexpr std::uint64_t region_bytes = std::uint64_t{1} << region_bits;
constexpr std::size_t nodes = std::size_t{1} << (address_bits - node_bits);
constexpr std::size_t regions_per_node = std::size_t{1} << (node_bits - region_bits);
constexpr std::size_t granules = std::size_t{1} << (region_bits - granule_bits);  // Per region.
constexpr std::size_t bitmap_words = granules / 64;                               // 16 KiB each.

/// A block packed into one word; 0 means none.
///
///   61     55     51                      43      0
///   | device | kind | offset in its granule | bytes |
constexpr unsigned size_bits = 43;
std::uint64_t pack(const block& b) {
  constexpr std::uint64_t most = (std::uint64_t{1} << size_bits) - 1;
  const std::uint64_t bytes = b.bytes == 0 ? 1 : b.bytes < most ? b.bytes : most;
  const std::uint64_t device = b.device < 63 ? b.device : 63;
  const std::uint64_t offset = b.address & ((1U << granule_bits) - 1);
  return bytes | (offset << size_bits) | (static_cast<std::uint64_t>(b.kind) << 51) | (device << 55);
}
std::uint64_t get_bytes(std::uint64_t packed) { return packed & ((std::uint64_t{1} << size_bits) - 1); }
std::uint64_t get_offset(std::uint64_t packed) { return (packed >> size_bits) & 0xff; }
memory_kind get_kind(std::uint64_t packed) { return static_cast<memory_kind>((packed >> 51) & 15); }
std::uint32_t find_device(std::uint64_t packed) {
  const auto device = static_cast<std::uint32_t>((packed >> 55) & 63);
  return device == 63 ? ring::no_device : device;
}

/// The starts of the blocks of one layer in one region.
struct leaf {
  std::uint64_t base;  ///< The region's start address. Set before the leaf is published, like `layer`.
  std::uint32_t layer;
  std::atomic<std::uint64_t> begins[bitmap_words];
  /// Per 16 KiB: granule + 1 of the earlier block that extends into it; 0 if no such block begins in this region.
  std::atomic<std::uint16_t> reaching[bitmap_words];
  alignas(
      4096) std::atomic<std::uint64_t> blocks[granules];  ///< Indexed by granule. Pages without blocks use no memory.
};

struct region {
  std::atomic<leaf*> leaves[trace::layer_count];
  std::atomic<std::uint64_t>
      reaching[trace::layer_count];  ///< Start address of the block that contains the region's first byte.
};
static_assert(sizeof(region) == 64);

struct node {
  region regions[regions_per_node];
};

/// A block into which words cannot point. It is found only by its exact address.
struct apart {
  std::atomic<std::uint64_t> key;  ///< Address and kind; 0: never used; `gone`: used before and free again.
  std::atomic<std::uint64_t> packed;
};
constexpr std::uint64_t gone = ~std::uint64_t{0};
constexpr std::size_t apart_slots = std::size_t{1} << 17;
constexpr std::size_t apart_probes = 256;

constexpr std::size_t chunk_bytes = std::size_t{1} << 22;
constexpr std::size_t max_chunks = 4096;

/// All state of this file, in memory that the kernel clears in a forked child, because the addresses are the parent's.
struct everything {
  std::atomic<std::uint64_t> next;  ///< Offset of the next allocation, in units of 4 KiB, over all chunks.
  std::atomic<char*> chunks[max_chunks];
  std::atomic<node*> nodes_[nodes];
  std::atomic<std::uint64_t> leaves;
  std::atomic<leaf*> all_leaves[max_chunks * (chunk_bytes / sizeof(leaf))];
  apart others[apart_slots];
  std::atomic<std::uint64_t> others_used;  ///< Number of entries in use.
};

SLUICE_HOT_DATA constinit std::atomic<everything*> table{nullptr};
std::atomic<std::uint64_t> not_tracked{0};

/// Maps zeroed memory that uses RAM only where it has been accessed. The kernel clears it in a forked child.
void* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_WIPEONFORK);  // Before Linux 4.14 the child keeps the parent's blocks, which is harmless.
  return memory;
}

SLUICE_RARE everything* make_table() {
  everything* t = nullptr;
  auto* fresh = static_cast<everything*>(map(sizeof(everything)));
  if (fresh == nullptr) return nullptr;
  if (table.compare_exchange_strong(t, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(fresh, sizeof(everything));
  return t;
}

SLUICE_INLINE everything* the_table() {
  everything* t = table.load(std::memory_order_acquire);
  return t != nullptr ? t : make_table();
}

/// Allocates `bytes` of zeroed memory, which is never freed. Returns null when the limit is reached.
void* take(everything& t, std::size_t bytes) {
  constexpr std::uint64_t unit = 4096, units_per_chunk = chunk_bytes / unit;
  const std::uint64_t units = (bytes + unit - 1) / unit;
  for (;;) {
    std::uint64_t at = t.next.load(std::memory_order_relaxed);
    const std::uint64_t left = units_per_chunk - at % units_per_chunk;
    const std::uint64_t begin = units <= left ? at : at + left;  // An allocation never spans two chunks.
    if (begin / units_per_chunk >= max_chunks) return nullptr;
    if (!t.next.compare_exchange_weak(at, begin + units, std::memory_order_relaxed)) continue;
    std::atomic<char*>& place = t.chunks[begin / units_per_chunk];
    char* chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr) {
      auto* fresh = static_cast<char*>(map(chunk_bytes));
      if (fresh == nullptr) return nullptr;
      if (place.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel)) {
        chunk = fresh;
      } else {
        munmap(fresh, chunk_bytes);
      }
    }
    return chunk + begin % units_per_chunk * unit;
  }
}

SLUICE_INLINE region* find_region(const everything& t, std::uint64_t address) {
  node* n = t.nodes_[address >> node_bits].load(std::memory_order_acquire);
  return n == nullptr ? nullptr : &n->regions[(address >> region_bits) % regions_per_node];
}

SLUICE_RARE region* make_node(everything& t, std::uint64_t address) {
  std::atomic<node*>& place = t.nodes_[address >> node_bits];
  node* n = place.load(std::memory_order_acquire);
  if (n == nullptr) {
    auto* fresh = static_cast<node*>(take(t, sizeof(node)));
    if (fresh == nullptr) return nullptr;
    if (place.compare_exchange_strong(n, fresh, std::memory_order_acq_rel)) n = fresh;
  }
  return &n->regions[(address >> region_bits) % regions_per_node];
}

SLUICE_INLINE region* make_region(everything& t, std::uint64_t address) {
  region* r = find_region(t, address);
  return r != nullptr ? r : make_node(t, address);
}

SLUICE_RARE leaf* make_leaf(everything& t, region& r, std::uint64_t address, std::size_t layer) {
  leaf* l = nullptr;
  auto* fresh = static_cast<leaf*>(take(t, sizeof(leaf)));
  if (fresh == nullptr) return nullptr;
  fresh->base = address & ~(region_bytes - 1);
  fresh->layer = static_cast<std::uint32_t>(layer);
  if (!r.leaves[layer].compare_exchange_strong(l, fresh, std::memory_order_acq_rel)) return l;
  const std::uint64_t number = t.leaves.fetch_add(1, std::memory_order_relaxed);
  t.all_leaves[number].store(fresh, std::memory_order_release);
  return fresh;
}

SLUICE_INLINE std::size_t get_granule(std::uint64_t address) { return (address >> granule_bits) % granules; }

SLUICE_INLINE std::uint64_t get_base(std::uint64_t address) { return address & ~(region_bytes - 1); }

SLUICE_RARE void widen_range(std::uint64_t first, std::uint64_t last) {
  std::uint64_t low = detail::lowest.load(std::memory_order_relaxed);
  while (first < low && !detail::lowest.compare_exchange_weak(low, first, std::memory_order_release)) {
  }
  std::uint64_t high = detail::highest.load(std::memory_order_relaxed);
  while (last > high && !detail::highest.compare_exchange_weak(high, last, std::memory_order_release)) {
  }
}

/// Widens the address range if the block is outside, which is rare. Call before the block can be found.
SLUICE_INLINE void widen(std::uint64_t first, std::uint64_t last) {
  const bool within = first >= detail::lowest.load(std::memory_order_relaxed) &&
                      last <= detail::highest.load(std::memory_order_relaxed);
  if (!within) [[unlikely]]
    widen_range(first, last);
}

/// Marks (`there`) or unmarks the block's start in each 16 KiB and each region into which the block extends. Changes
/// only entries with the expected value, so the entries of an overlapping block that was never removed stay.
SLUICE_HOT void mark_long_reach(everything& t, leaf& own, std::size_t layer, std::uint64_t address, std::uint64_t last,
                                bool there) {
  const std::uint64_t base = get_base(address);
  const std::uint64_t end_here = last < base + region_bytes - 1 ? last : base + region_bytes - 1;
  const auto mine = static_cast<std::uint16_t>(get_granule(address) + 1);
  // A block that begins at the region's start needs no marks per 16 KiB: the region has its own entry for it.
  const bool at_start = address == base;
  const std::size_t last_word = at_start ? 0 : get_granule(end_here) / 64;
  for (std::size_t w = get_granule(address) / 64 + 1; w <= last_word; ++w) {
    if (there) {
      own.reaching[w].store(mine, std::memory_order_release);
    } else if (own.reaching[w].load(std::memory_order_relaxed) == mine) {
      own.reaching[w].store(0, std::memory_order_release);
    }
  }
  for (std::uint64_t at = base + (at_start ? 0 : region_bytes); at <= last; at += region_bytes) {
    region* r = there ? make_region(t, at) : find_region(t, at);
    if (r == nullptr) return;
    std::atomic<std::uint64_t>& says = r->reaching[layer];
    if (there) {
      says.store(address, std::memory_order_release);
    } else if (says.load(std::memory_order_relaxed) == address) {
      says.store(0, std::memory_order_release);
    }
  }
}

SLUICE_INLINE void mark_reach(everything& t, leaf& own, std::size_t layer, std::uint64_t address, std::uint64_t bytes,
                              bool there) {
  constexpr std::uint64_t word_bytes = std::uint64_t{64} << granule_bits;
  const std::uint64_t last = address + bytes - 1;
  // A block needs no marks if it lies within one unit of 16 KiB and does not begin at the region's start.
  if (address / word_bytes == last / word_bytes && address != get_base(address)) return;
  mark_long_reach(t, own, layer, address, last, there);
}

SLUICE_INLINE bool erase(everything& t, std::uint64_t address, std::size_t layer) {
  region* r = find_region(t, address);
  leaf* l = r == nullptr ? nullptr : r->leaves[layer].load(std::memory_order_acquire);
  if (l == nullptr) return false;
  const std::size_t granule = get_granule(address);
  std::uint64_t packed = l->blocks[granule].load(std::memory_order_acquire);
  if (packed == 0 || get_offset(packed) != (address & ((1U << granule_bits) - 1))) return false;
  // If two threads remove the block at the same time, one of them succeeds.
  if (!l->blocks[granule].compare_exchange_strong(packed, 0, std::memory_order_acq_rel)) return false;
  l->begins[granule / 64].fetch_and(~(std::uint64_t{1} << (granule % 64)), std::memory_order_acq_rel);
  mark_reach(t, *l, layer, address, get_bytes(packed), false);
  return true;
}
SLUICE_RARE bool erase_elsewhere(everything& t, std::uint64_t address, std::size_t layer) {
  return erase(t, address, layer);
}

/// The address of the block that begins in `granule` of `l`, if it contains `word`; else 0. `base`: the region's start.
SLUICE_INLINE std::uint64_t holding(const leaf& l, std::uint64_t base, std::size_t granule, std::uint64_t word) {
  const std::uint64_t packed = l.blocks[granule].load(std::memory_order_acquire);
  if (packed == 0) return 0;
  const std::uint64_t begin = base + (granule << granule_bits) + get_offset(packed);
  return word - begin < get_bytes(packed) ? begin : 0;
}

std::uint64_t find_in(const everything& t, const region& r, std::size_t layer, std::uint64_t word) {
  if (const leaf* l = r.leaves[layer].load(std::memory_order_acquire)) {
    const std::size_t granule = get_granule(word);
    const std::uint64_t base = get_base(word);
    // Most words point into the first 256 bytes of a block; then nothing else is read.
    if (const std::uint64_t found = holding(*l, base, granule, word)) return found;
    // Otherwise, only the last block that begins before the word can contain it.
    const std::uint64_t before = (std::uint64_t{1} << (granule % 64)) - 1;
    const std::uint64_t bits = l->begins[granule / 64].load(std::memory_order_acquire) & before;
    if (bits != 0) {
      const auto bit = static_cast<unsigned>(63 - __builtin_clzll(bits));
      if (const std::uint64_t found = holding(*l, base, granule / 64 * 64 + bit, word)) return found;
    }
    if (const std::uint16_t reaching = l->reaching[granule / 64].load(std::memory_order_acquire)) {
      if (const std::uint64_t found = holding(*l, base, reaching - 1U, word)) return found;
    }
  }
  const std::uint64_t begin = r.reaching[layer].load(std::memory_order_acquire);
  if (begin == 0) return 0;
  const region* first = find_region(t, begin);
  const leaf* l = first == nullptr ? nullptr : first->leaves[layer].load(std::memory_order_acquire);
  return l == nullptr ? 0 : holding(*l, get_base(begin), get_granule(begin), word);
}

// --- blocks into which words cannot point ----------------------------------------------------------------------------

bool is_apart(memory_kind kind) {
  return kind == memory_kind::reservation || kind == memory_kind::physical || kind == memory_kind::array;
}

/// The key of a block in this table. It is never 0 and never `gone`, because it contains a kind.
std::uint64_t apart_key(std::uint64_t address, memory_kind kind) {
  return (address & ((std::uint64_t{1} << 56) - 1)) | (static_cast<std::uint64_t>(kind) << 56);
}
std::size_t apart_slot(std::uint64_t key, std::size_t probe) {
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 40) + probe;
}

bool remove_apart(everything& t, std::uint64_t address, memory_kind kind) {
  const std::uint64_t key = apart_key(address, kind);
  for (std::size_t i = 0; i < apart_probes; ++i) {
    apart& a = t.others[apart_slot(key, i) % apart_slots];
    const std::uint64_t found = a.key.load(std::memory_order_acquire);
    if (found == 0) return false;
    if (found != key) continue;
    a.packed.store(0, std::memory_order_release);
    std::uint64_t expected = key;
    return a.key.compare_exchange_strong(expected, gone, std::memory_order_acq_rel);
  }
  return false;
}

bool add_apart(everything& t, const block& b) {
  const std::uint64_t key = apart_key(b.address, b.kind);
  remove_apart(t, b.address, b.kind);
  for (std::size_t i = 0; i < apart_probes; ++i) {
    apart& a = t.others[apart_slot(key, i) % apart_slots];
    std::uint64_t found = a.key.load(std::memory_order_acquire);
    if (found != 0 && found != gone) continue;
    if (!a.key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) continue;
    a.packed.store(pack(b), std::memory_order_release);
    t.others_used.store(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace

SLUICE_HOT bool add(const block& b) noexcept {
  everything* t = the_table();
  const bool addressable =
      b.address != 0 && b.address >> address_bits == 0 && b.bytes <= (std::uint64_t{1} << size_bits);
  bool added = false;
  if (t != nullptr && is_apart(b.kind)) [[unlikely]] {
    added = add_apart(*t, b);
  } else if (t != nullptr && addressable && (b.address + b.bytes) >> address_bits == 0) {
    const auto layer = static_cast<std::size_t>(b.layer);
    region* r = make_region(*t, b.address);
    leaf* l = r == nullptr ? nullptr : r->leaves[layer].load(std::memory_order_acquire);
    if (l == nullptr && r != nullptr) l = make_leaf(*t, *r, b.address, layer);
    if (l != nullptr) [[likely]] {
      const std::size_t granule = get_granule(b.address);
      if (const std::uint64_t there = l->blocks[granule].load(std::memory_order_acquire)) [[unlikely]] {
        erase_elsewhere(*t, get_base(b.address) + (granule << granule_bits) + get_offset(there), layer);
      }
      widen(b.address, b.address + (b.bytes == 0 ? 0 : b.bytes - 1));
      l->blocks[granule].store(pack(b), std::memory_order_release);
      l->begins[granule / 64].fetch_or(std::uint64_t{1} << (granule % 64), std::memory_order_acq_rel);
      mark_reach(*t, *l, layer, b.address, b.bytes == 0 ? 1 : b.bytes, true);
      added = true;
    }
  }
  if (!added) not_tracked.fetch_add(1, std::memory_order_relaxed);
  return added;
}

SLUICE_HOT bool remove(std::uint64_t address, layer layer, memory_kind kind) noexcept {
  everything* t = table.load(std::memory_order_acquire);
  if (t == nullptr) return false;
  if (is_apart(kind)) return remove_apart(*t, address, kind);
  if (address == 0 || address >> address_bits != 0) return false;
  if (erase(*t, address, static_cast<std::size_t>(layer))) return true;
  // cuMemFree also frees memory from cuMemAllocAsync, and cuMemFreeAsync memory from cuMemAlloc.
  if (kind != memory_kind::unknown || (layer != layer::driver && layer != layer::pool)) return false;
  const std::size_t other = static_cast<std::size_t>(layer == layer::driver ? layer::pool : layer::driver);
  return erase_elsewhere(*t, address, other);
}

SLUICE_HOT void expect(std::uint64_t address, layer layer) noexcept {
  const everything* t = table.load(std::memory_order_acquire);
  if (t == nullptr || address >> address_bits != 0) return;
  region* r = find_region(*t, address);
  leaf* l = r == nullptr ? nullptr : r->leaves[static_cast<std::size_t>(layer)].load(std::memory_order_acquire);
  if (l == nullptr) return;
  const std::size_t granule = get_granule(address);
  ring::expect_write(&l->blocks[granule]);
  ring::expect_write(&l->begins[granule / 64]);
  ring::expect_write(&l->reaching[granule / 64]);
}

void lookup_each(std::uint64_t* words, std::size_t count) noexcept {
  const everything* t = table.load(std::memory_order_acquire);
  if (t != nullptr && count > 1) {
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i] >> address_bits == 0) ring::expect_read(find_region(*t, words[i]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const region* r = words[i] >> address_bits == 0 ? find_region(*t, words[i]) : nullptr;
      if (r == nullptr) continue;
      for (std::size_t layer = trace::layer_count; layer-- > static_cast<std::size_t>(layer::driver);) {
        const leaf* l = r->leaves[layer].load(std::memory_order_acquire);
        if (l == nullptr) continue;
        ring::expect_read(&l->blocks[get_granule(words[i])]);
        break;
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) words[i] = lookup(words[i]);
}

std::uint64_t lookup(std::uint64_t word) noexcept {
  const everything* t = table.load(std::memory_order_acquire);
  if (t == nullptr || word >> address_bits != 0) return 0;
  const region* r = find_region(*t, word);
  if (r == nullptr) return 0;
  for (std::size_t layer = trace::layer_count; layer-- > 0;) {
    if (const std::uint64_t found = find_in(*t, *r, layer, word)) return found;
  }
  return 0;
}

void for_each(void (*visit)(void* context, const block& b), void* context) noexcept {
  const everything* t = table.load(std::memory_order_acquire);
  if (t == nullptr) return;
  const std::uint64_t count = t->leaves.load(std::memory_order_acquire);
  for (std::uint64_t i = 0; i < count; ++i) {
    const leaf* l = t->all_leaves[i].load(std::memory_order_acquire);
    for (std::size_t w = 0; l != nullptr && w < bitmap_words; ++w) {
      for (std::uint64_t bits = l->begins[w].load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
        const std::size_t granule = w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
        const std::uint64_t packed = l->blocks[granule].load(std::memory_order_acquire);
        if (packed == 0) continue;
        visit(context, {l->base + (granule << granule_bits) + get_offset(packed), get_bytes(packed),
                        static_cast<layer>(l->layer), get_kind(packed), find_device(packed)});
      }
    }
  }
  if (t->others_used.load(std::memory_order_relaxed) == 0) return;
  for (const apart& a : t->others) {
    const std::uint64_t key = a.key.load(std::memory_order_acquire);
    const std::uint64_t packed = a.packed.load(std::memory_order_acquire);
    if (key == 0 || key == gone || packed == 0) continue;
    visit(context, {key & ((std::uint64_t{1} << 56) - 1), get_bytes(packed), layer::driver, get_kind(packed),
                    find_device(packed)});
  }
}

void clear() noexcept {
  for_each([](void*, const block& b) { remove(b.address, b.layer, b.kind); }, nullptr);
}

std::uint64_t untracked() noexcept { return not_tracked.load(std::memory_order_relaxed); }

}  // namespace sluice::capture::live_blocks
