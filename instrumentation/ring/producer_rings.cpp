// Functions that make a ring and send it to the writer, which a thread does once. producer.cpp has the functions that
// run at every event.
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/memory_file.hpp"
#include "instrumentation/ring/process_identity.hpp"
#include "instrumentation/ring/producer_emit.hpp"
#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

namespace sluice::ring {

namespace {

/// The program's limit on the size of files, in bytes; the largest number if there is none.
std::size_t file_size_limit() noexcept {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<std::size_t>(limit.rlim_cur) : SIZE_MAX;
}

}  // namespace

int make_memory_file(std::size_t bytes) noexcept {
  // Growing a file beyond the limit would raise SIGXFSZ.
  if (file_size_limit() < bytes) {
    errno = EFBIG;
    return -1;
  }
  const int file = memfd_create("sluice-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  int rc = 0;
  do {
    rc = fallocate(file, 0, 0, static_cast<off_t>(bytes));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int why = errno;
    close(file);
    errno = why;
    return -1;
  }
  return file;
}

namespace detail {

region_lock::region_lock(fork_wiped_state& region) noexcept : region_(region) {
  while (region_.lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}

region_lock::~region_lock() { region_.lock.store(0, std::memory_order_release); }

namespace {

no_ring_reason get_reason(int number) noexcept {
  if (number == EMFILE || number == ENFILE) return no_ring_reason::descriptors;
  return number == EFBIG ? no_ring_reason::file_limit : no_ring_reason::memory;
}

/// Connects to the socket `name`. Returns -1 with errno on failure. Never blocks.
int connect_to(const char* name) noexcept {
  sockaddr_un address;
  socklen_t length = 0;
  if (!socket_address(name, address, length)) {
    errno = ENOENT;
    return -1;
  }
  const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) return -1;
  int rc = 0;
  do {
    rc = connect(s, reinterpret_cast<const sockaddr*>(&address), length);
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return s;
  const int why = errno;
  close(s);
  errno = why;
  return -1;
}

/// True if the error means that no writer listens at the address, as far as this process can tell.
bool refused(int number) noexcept {
  return number == ECONNREFUSED || number == ENOENT || number == ENOTDIR || number == EACCES || number == EPERM;
}

/// Connects to either of the writer's sockets.
int connect_to(const connection& to) noexcept {
  const int s = to.to.path[0] == '\0' ? -1 : connect_to(to.to.path);
  const bool elsewhere = s < 0 && (to.to.path[0] == '\0' || refused(errno));
  return elsewhere ? connect_to(to.to.name) : s;
}

/// Sends the ring's descriptor. Does not raise SIGPIPE; never blocks.
bool send_file(int to, int file, const writer_address& writer) noexcept {
  hello greeting;
  memcpy(greeting.secret, writer.secret, sizeof greeting.secret);
  iovec part{&greeting, sizeof greeting};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(rights), &file, sizeof file);
  ssize_t sent = 0;
  do {
    sent = sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof greeting);
}

/// A number computed from this copy's address. Two copies have the same number only if their addresses differ by a
/// multiple of 128 GiB.
std::uint32_t number_of_copy() noexcept {
  alignas(64) static constexpr char here[64] = {};
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&here) / sizeof here) | 1U << 31;
}

/// The capacity of the next ring, in bytes: as requested, or less if the program may not make a file of that size.
std::size_t allowed_ring_bytes(std::size_t asked) noexcept {
  const std::size_t most = file_size_limit();
  while (asked > minimum_ring_bytes && ring_data_offset + asked > most) asked /= 2;
  return asked;
}

}  // namespace

ring_made make_ring(ring_slot& slot, const connection& to, no_ring_reason& why) noexcept {
  const std::size_t capacity = allowed_ring_bytes(to.ring_bytes);
  const std::size_t bytes = ring_data_offset + capacity;
  const int link = connect_to(to);
  if (link < 0) {
    const bool gone = refused(errno);
    // A full connection queue (EAGAIN) counts as refused.
    why = gone || errno == EAGAIN ? no_ring_reason::refused : get_reason(errno);
    return gone ? ring_made::writer_gone : ring_made::later;
  }
  const int file = make_memory_file(bytes);
  void* memory =
      file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  bool sent = false;
  if (memory == MAP_FAILED) {
    why = get_reason(errno);
  } else {
    slot.ring.format(memory, capacity, to.clock);
    fill_identity(slot.ring.header()->identity, to.rank);
    slot.ring.header()->identity.copy = number_of_copy();
    slot.mapped_bytes = bytes;
    slot.tid = 0;
    sent = send_file(link, file, to.to);
    if (!sent) {
      why = no_ring_reason::refused;
      unmap_ring(slot);
    }
  }
  if (file >= 0) close(file);
  close(link);
  return sent ? ring_made::yes : ring_made::later;
}

void* view_account(ring_header* ring, void* view) noexcept {
  // For a shared mapping, mremap with an old size of 0 creates a second mapping of the same pages.
  const int where = view == nullptr ? MREMAP_MAYMOVE : MREMAP_MAYMOVE | MREMAP_FIXED;
  void* output = mremap(ring, 0, ring_data_offset, where, view);
  return output == MAP_FAILED ? nullptr : output;
}

namespace {

constexpr std::size_t longest_note_name = sizeof(sockaddr_un::sun_path) + 64;

/// Makes the path of this process's note, in the folder of the writer's socket. Returns false if the writer accepts no
/// notes.
bool note_name(const connection& to, const char* ending, char (&name)[longest_note_name]) noexcept {
  const char* slash = strrchr(to.to.path, '/');
  if (slash == nullptr) return false;
  const int folder = static_cast<int>(slash - to.to.path);
  const int length =
      snprintf(name, sizeof name, "%.*s/%s%d-%x-%llx%s", folder, to.to.path, note_prefix, static_cast<int>(getpid()),
               number_of_copy(), static_cast<unsigned long long>(image_of_this_process()), ending);
  return length > 0 && static_cast<std::size_t>(length) < sizeof name;
}

}  // namespace

void leave_note(const connection& to, no_ring_reason why, std::uint64_t events, std::uint64_t memory_events) noexcept {
  char name[longest_note_name], draft[longest_note_name];
  if (!note_name(to, "", name) || !note_name(to, ".new", draft)) return;
  char text[192];
  snprintf(text, sizeof text, "%c %d %llu %llu %.64s", static_cast<char>(why), static_cast<int>(getpid()),
           static_cast<unsigned long long>(events), static_cast<unsigned long long>(memory_events),
           program_invocation_short_name);
  if (symlink(text, draft) == 0) rename(draft, name);
}

void take_note_back(const connection& to) noexcept {
  char name[longest_note_name];
  if (note_name(to, "", name)) unlink(name);
}

void unmap_ring(ring_slot& slot) noexcept {
  void* memory = slot.ring.header();
  const std::size_t bytes = slot.mapped_bytes;
  // Clear the slot first, because a child forked in between must not unmap memory that is reused by then.
  slot.ring = ring_producer{};
  slot.mapped_bytes = 0;
  munmap(memory, bytes);
}

bool wake_writer(const connection& to) noexcept {
  const int link = connect_to(to);
  if (link < 0) return !refused(errno);
  close(link);
  return true;
}

bool introduce_thread(ring_slot& slot) noexcept {
  thread_record thread{};
  thread.tid = static_cast<std::uint64_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, thread.name);
  const bool of_recorder = is_recorder_thread();
  if (of_recorder) thread.header.flags = flag_of_recorder;
  const bool known = slot.tid == thread.tid && slot.of_recorder == of_recorder;
  if (known && memcmp(slot.name, thread.name, sizeof slot.name) == 0) return true;
  // The record is not written if it might be dropped, because only losses of the records after it should be counted.
  if (!slot.ring.fits(sizeof thread) || !slot.ring.put(&thread.header, record_type::thread, sizeof thread))
    return false;
  slot.tid = thread.tid;
  slot.of_recorder = of_recorder;
  memcpy(slot.name, thread.name, sizeof slot.name);
  return true;
}

// The mixing function of MurmurHash64A (A. Appleby, public domain), 8 bytes per step. It does not resist attackers who
// choose the text.
std::uint64_t hash_text(const char* text, std::size_t length) noexcept {
  constexpr std::uint64_t factor = 0xc6a4'a793'5bd1'e995u;
  std::uint64_t hash = 0x736c'7569'6365'0001u ^ (length * factor);
  const auto step = [&](std::uint64_t word) {
    word *= factor;
    word ^= word >> 47;
    hash = (hash ^ word * factor) * factor;
  };
  for (; length >= 8; text += 8, length -= 8) {
    std::uint64_t word = 0;
    memcpy(&word, text, sizeof word);
    step(word);
  }
  if (length != 0) {
    std::uint64_t word = 0;
    memcpy(&word, text, length);
    step(word);
  }
  hash = (hash ^ (hash >> 47)) * factor;
  hash ^= hash >> 47;
  return hash == 0 ? 1 : hash;
}

SLUICE_HOT std::uint64_t hash_words(const std::uint64_t* words, std::size_t count, std::uint64_t seed) noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
  constexpr std::size_t pool_streams = 4;
  std::uint64_t pool_stream[pool_streams] = {seed, seed + odd, seed ^ odd, ~seed};
  const auto add = [](std::uint64_t& to, std::uint64_t word) {
    to = (to ^ word) * odd;
    to ^= to >> 32;
  };
  std::size_t i = 0;
  for (; i + pool_streams <= count; i += pool_streams) {
    for (std::size_t l = 0; l < pool_streams; ++l) add(pool_stream[l], words[i + l]);
  }
  for (; i < count; ++i) add(pool_stream[i % pool_streams], words[i]);
  for (std::size_t l = 1; l < pool_streams; ++l) add(pool_stream[0], pool_stream[l]);
  return pool_stream[0] | 1;
}

bool emit_touch_slowly(touch_record record, const std::uint64_t* words) noexcept {
  return emit_with(&record.header, record_type::touch, sizeof record, words, record.count);
}

std::uint64_t pool_stream_key(const pool_stream_record& pool_stream) noexcept {
  constexpr std::size_t begin = offsetof(pool_stream_record, key) + sizeof pool_stream.key;
  std::uint64_t words[(sizeof pool_stream - begin) / sizeof(std::uint64_t)];
  memcpy(words, reinterpret_cast<const char*>(&pool_stream) + begin, sizeof words);
  return hash_words(words, sizeof words / sizeof words[0], 0);
}

}  // namespace detail

SLUICE_HOT std::uint64_t stack_key(const std::uint64_t* frames, std::size_t count, std::uint64_t base) noexcept {
  return detail::hash_words(frames, count, count + base);
}

}  // namespace sluice::ring
