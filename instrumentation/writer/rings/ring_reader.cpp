#include "instrumentation/writer/rings/ring_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace sluice::writer {
namespace {

/// At most `length` characters, up to the first zero; control characters are replaced by spaces.
std::string printable(const char* text, std::size_t length) {
  std::string copy(text, strnlen(text, length));
  for (char& c : copy) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return copy;
}

producer_identity copy_identity(const ring::ring_identity& shared) {
  ring::ring_identity raw;
  std::memcpy(&raw, &shared, sizeof raw);
  producer_identity identity;
  identity.start_time = raw.start_time;
  identity.image = raw.image;
  identity.rank = raw.rank < 0 ? -1 : raw.rank;
  identity.pid = raw.pid;
  identity.parent_pid = raw.parent_pid;
  identity.copy = raw.copy;
  identity.boot_id = printable(raw.boot_id, sizeof raw.boot_id);
  identity.host = printable(raw.host, sizeof raw.host);
  identity.command = printable(raw.command, std::min<std::size_t>(raw.command_bytes, sizeof raw.command));
  return identity;
}

/// Copies in small pieces. Above 2 KiB, glibc uses `rep movsb`, which is slow
/// on AMD Zen 3 and Zen 4 for some alignments (sourceware.org, bug 30994).
void append_in_pieces(std::span<const std::byte> bytes, std::vector<std::byte>& to) {
  constexpr std::size_t a_step = 2048;
  for (; bytes.size() > a_step; bytes = bytes.subspan(a_step))
    to.insert(to.end(), bytes.begin(), bytes.begin() + a_step);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { close(number_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

}  // namespace

result<ring_reader> ring_reader::adopt(int memory_file) {
  const descriptor file(memory_file);
  // Without the seal, the sender could truncate the file while we read it, which would raise SIGBUS.
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(error_code::corrupt, "a ring that is not a sealed memory file");
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return fail(error_code::io, describe_errno(errno));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < ring::ring_data_offset + ring::minimum_ring_bytes ||
      size > ring::ring_data_offset + ring::maximum_ring_bytes) {
    return fail(error_code::corrupt, "a ring of " + std::to_string(size) + " bytes");
  }
  const std::size_t capacity = static_cast<std::size_t>(size) - ring::ring_data_offset;
  if (!std::has_single_bit(capacity)) return fail(error_code::corrupt, "a ring whose size is not a power of two");
  void* memory = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail(error_code::io, "cannot map a ring: " + describe_errno(errno));

  ring_reader reader(static_cast<ring::ring_header*>(memory), capacity);
  const ring::ring_header& header = *reader.header_;
  if (header.magic != ring::ring_magic) return fail(error_code::corrupt, "a ring without its magic number");
  if (header.version < ring::oldest_ring_version || header.version > ring::ring_version) {
    return fail(error_code::newer_version, "a ring of version " + std::to_string(header.version) + ", expected " +
                                               std::to_string(ring::ring_version));
  }
  const std::uint32_t clock = header.clock;
  if (clock > static_cast<std::uint32_t>(ring::clock_kind::simulated_ns)) {
    return fail(error_code::corrupt, "a ring with clock " + std::to_string(clock));
  }
  reader.clock_ = static_cast<ring::clock_kind>(clock);
  reader.identity_ = copy_identity(header.identity);
  return reader;
}

ring_reader::ring_reader(ring::ring_header* header, std::size_t capacity) : header_(header), capacity_(capacity) {}

ring_reader::ring_reader(ring_reader&& other) noexcept { *this = std::move(other); }

ring_reader& ring_reader::operator=(ring_reader&& other) noexcept {
  std::swap(header_, other.header_);
  std::swap(capacity_, other.capacity_);
  std::swap(tail_, other.tail_);
  std::swap(clock_, other.clock_);
  std::swap(useless_, other.useless_);
  std::swap(has_more_, other.has_more_);
  std::swap(ended_, other.ended_);
  std::swap(identity_, other.identity_);
  return *this;
}

ring_reader::~ring_reader() {
  if (header_ != nullptr) munmap(header_, ring::ring_data_offset + capacity_);
}

void ring_reader::copy_out(std::uint64_t begin, std::size_t bytes, std::vector<std::byte>& into) const {
  const auto* data = reinterpret_cast<const std::byte*>(header_) + ring::ring_data_offset;
  const std::size_t offset = begin & (capacity_ - 1);
  const std::size_t first = std::min(bytes, capacity_ - offset);
  append_in_pieces({data + offset, first}, into);
  append_in_pieces({data, bytes - first}, into);
}

namespace {

constexpr std::size_t a_piece = std::size_t{1} << 20;

/// The length of the complete records in `bytes`. Clears `sound` if the next record's length is invalid.
std::size_t whole_records(std::span<const std::byte> bytes, bool& sound) {
  std::size_t whole = 0;
  while (bytes.size() - whole >= sizeof(std::uint64_t)) {
    const record_head head = head_at(bytes.data() + whole);
    const std::size_t least =
        head.type == ring::record_type::padding ? sizeof(std::uint64_t) : sizeof(ring::record_header);
    sound = head.bytes >= least && head.bytes <= ring::maximum_record_bytes;
    if (!sound || head.bytes > bytes.size() - whole) break;
    whole += head.bytes;
  }
  return whole;
}

}  // namespace

/// Copies in pieces and stops at an invalid record, to avoid reading memory that was never written (a sparse file can
/// have any amount).
std::size_t ring_reader::copy_whole_records(std::uint64_t begin, std::size_t bytes, std::vector<std::byte>& into,
                                            bool& sound) const {
  std::size_t taken = 0;
  while (sound && taken < bytes) {
    const std::size_t place = into.size();
    copy_out(begin + taken, std::min(a_piece, bytes - taken), into);
    const std::size_t whole = whole_records(std::span(into).subspan(place), sound);
    into.resize(place + whole);
    taken += whole;
    if (whole == 0) break;  // The rest is an incomplete record.
  }
  return taken;
}

result<std::size_t> ring_reader::drain(std::vector<std::byte>& into, std::size_t most) {
  has_more_ = false;
  if (useless_) return 0;
  const std::uint64_t head = header_->head.load(std::memory_order_acquire);
  const std::uint64_t bytes = head - tail_;
  if (bytes > capacity_ || bytes % 8 != 0) {
    useless_ = true;
    return fail(error_code::corrupt, "a ring whose head is " + std::to_string(bytes) + " bytes ahead");
  }
  // Copy before checking: the other side cannot change the copy.
  std::size_t taken = static_cast<std::size_t>(bytes);
  if (taken <= std::min(a_piece, most)) {
    copy_out(tail_, taken, into);
  } else {
    bool sound = true;
    const std::size_t asked = std::min(taken, std::max(most, ring::maximum_record_bytes));
    taken = copy_whole_records(tail_, asked, into, sound);
    // The records before the invalid record are returned. The next call begins with the invalid record.
    useless_ = !sound && taken == 0;
    if (useless_) return fail(error_code::corrupt, "a ring with an invalid record length");
    has_more_ = taken < bytes;
  }
  tail_ += taken;
  header_->tail.store(tail_, std::memory_order_release);
  return taken;
}

bool ring_reader::closed() const { return ended_ || header_->closed.load(std::memory_order_acquire) != 0; }

ring_reader::losses ring_reader::lost() const {
  losses found;
  found.events = header_->lost_events.load(std::memory_order_acquire);
  found.memory_events = std::min(header_->lost_memory_events.load(std::memory_order_relaxed), found.events);
  found.first = header_->first_lost.load(std::memory_order_relaxed);
  found.last = header_->last_lost.load(std::memory_order_relaxed);
  found.layers = header_->lost_layers.load(std::memory_order_relaxed);
  found.ringless_events = header_->ringless_events.load(std::memory_order_acquire);
  found.ringless_memory_events =
      std::min(header_->ringless_memory_events.load(std::memory_order_relaxed), found.ringless_events);
  return found;
}

void ring_reader::say_gone() { header_->writer_gone.store(1, std::memory_order_relaxed); }

}  // namespace sluice::writer
