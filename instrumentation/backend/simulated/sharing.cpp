#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "instrumentation/backend/simulated/device.hpp"
#include "instrumentation/ring/handle_key.hpp"

// Memory and events shared between processes: unnamed files that the other process opens through /proc.

namespace sluice::backend {

namespace {

/// The content of a handle.
struct handle_content {
  std::array<char, 8> magic{};
  std::array<std::uint8_t, 16> device{};
  std::uint64_t bytes = 0;
  std::uint64_t inode = 0;  // of the file; detects a descriptor number that was reused before it is opened
  std::int32_t process = 0;
  std::int32_t file = 0;
};
constexpr std::array<char, 8> memory_magic{'s', 'l', 'u', 'i', 'c', 'e', 'm', '1'};
constexpr std::array<char, 8> event_magic{'s', 'l', 'u', 'i', 'c', 'e', 'e', '1'};
static_assert(sizeof(handle_content) <= sizeof(ipc_memory_handle::bytes));

std::uint64_t inode_of(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 ? about.st_ino : 0;
}

template <class Handle>
Handle handle_of(const handle_content& content) {
  Handle out;
  std::memcpy(out.bytes.data(), &content, sizeof content);
  return out;
}

/// Opens the file that a handle names; returns its descriptor or an error. Whatever the handle contains, only a file of
/// a simulated device with at least the stated size is accepted.
device_result<int> open_handle(const handle_content& content, const std::array<char, 8>& magic,
                               const std::array<std::uint8_t, 16>& device, const char* call) {
  if (content.magic != magic)
    return fail(status::invalid_value, call, "not a handle of a simulated device", native_invalid);
  if (content.device != device)
    return fail(status::invalid_value, call, "the handle is of another device", native_invalid);
  if (content.process == getpid()) {
    return fail(status::invalid_value, call, "a handle cannot be opened in the process that created it",
                native_invalid);
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", content.process, content.file);
  std::array<char, 64> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size() - 1);
  const bool ours = length > 0 && std::string_view(target.data()).starts_with("/memfd:sluice-");
  const int file = ours ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  struct stat about {};
  if (file >= 0 && fstat(file, &about) == 0 && about.st_ino == content.inode &&
      static_cast<std::uint64_t>(about.st_size) >= content.bytes) {
    return file;
  }
  if (file >= 0) close(file);
  return fail(status::invalid_value, call,
              fmt::format("process {} no longer has it, or access was denied", content.process), native_invalid);
}

}  // namespace

device_result<ipc_memory_handle> simulated_device::export_memory(void* address) {
  if (!config_.features.shares_memory)
    return fail(status::not_supported, "cuIpcGetMemHandle", "the device does not support IPC");
  entry e = enter("cuIpcGetMemHandle", config_.costs.share_call);
  const auto* block = memory_.find(address);
  const bool plain = block && block->address == reinterpret_cast<std::uint64_t>(address) &&
                     block->space == memory_space::device && !block->mapping && !block->imported &&
                     !pool_block(address);
  run_until(e.end);
  const int file = plain ? memory_.share(address) : -1;
  ipc_memory_handle handle;
  if (file >= 0) {
    handle =
        handle_of<ipc_memory_handle>({memory_magic, description_.uuid, block->bytes, inode_of(file), getpid(), file});
    log_.shared(static_cast<std::uint64_t>(e.end), memory_.name_of(address),
                ring::key_of_handle(handle.bytes.data(), handle.bytes.size()), false);
  }
  leave(e);
  if (!plain) {
    return fail(status::invalid_value, "cuIpcGetMemHandle", "only memory from `allocate` can be shared",
                native_invalid);
  }
  if (file < 0) return fail(status::failed, "cuIpcGetMemHandle", "the system refused the shared memory");
  return handle;
}

device_result<void*> simulated_device::import_memory(const ipc_memory_handle& handle) {
  entry e = enter("cuIpcOpenMemHandle_v2", config_.costs.import_call);
  const std::string known(reinterpret_cast<const char*>(handle.bytes.data()), handle.bytes.size());
  if (const auto it = imported_.find(known); it != imported_.end()) {
    ++imports_[it->second];
    leave(e);
    return reinterpret_cast<void*>(it->second);
  }
  handle_content content;
  std::memcpy(&content, handle.bytes.data(), sizeof content);
  const auto file = open_handle(content, memory_magic, description_.uuid, "cuIpcOpenMemHandle");
  void* address = file ? memory_.import(*file, content.bytes) : nullptr;
  if (file) close(*file);  // the mapping keeps the file alive
  const auto end = static_cast<std::uint64_t>(e.end);
  log_.api_call(e.call, end, 0, content.bytes, 0, 0, address ? 0 : native_invalid);
  if (address) {
    imported_[known] = imports_.emplace(reinterpret_cast<std::uint64_t>(address), 1).first->first;
    log_.allocated(e.call, end,
                   {memory_.name_of(address), content.bytes, 0, 0, trace::memory_kind::device,
                    ring::flag_ipc | ring::flag_shared});
    log_.shared(end, memory_.name_of(address), ring::key_of_handle(handle.bytes.data(), handle.bytes.size()), true);
  }
  leave(e);
  if (!file) return tl::unexpected(file.error());
  if (!address) return fail(status::out_of_memory, "cuIpcOpenMemHandle", "the address space is exhausted");
  return address;
}

device_result<void> simulated_device::close_memory(void* address) {
  entry e = enter("cuIpcCloseMemHandle", config_.costs.import_call);
  const auto it = imports_.find(reinterpret_cast<std::uint64_t>(address));
  if (it == imports_.end()) {
    leave(e);
    return fail(status::invalid_value, "cuIpcCloseMemHandle", "the address is not the start of an imported block",
                native_invalid);
  }
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), 0);
  if (--it->second == 0) {
    e.end = std::max(e.end, idle_at());
    run_until(e.end);
    log_.freed(e.call, {memory_.name_of(address), 0, 0, 0, trace::memory_kind::device, ring::flag_ipc});
    std::erase_if(imported_, [&](const auto& known) { return known.second == it->first; });
    imports_.erase(it);
    memory_.free(address);
  }
  leave(e);
  return {};
}

device_result<ipc_event_handle> simulated_device::export_event(event_handle event) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(static_cast<std::uint64_t>(event));
  if (it == events_.end() || !it->second.shared) {
    return fail(status::invalid_value, "cuIpcGetEventHandle", "not an interprocess event", native_invalid);
  }
  const int file = it->second.shared->file();
  return handle_of<ipc_event_handle>(
      {event_magic, description_.uuid, simulated::shared_event::bytes, inode_of(file), getpid(), file});
}

device_result<event_handle> simulated_device::import_event(const ipc_event_handle& handle) {
  entry e = wait("cuIpcOpenEventHandle", config_.costs.share_call);
  handle_content content;
  std::memcpy(&content, handle.bytes.data(), sizeof content);
  const auto file = open_handle(content, event_magic, description_.uuid, "cuIpcOpenEventHandle");
  event_state made;
  if (file) made.shared = simulated::shared_event::open(*file);
  std::uint64_t id = 0;
  if (made.shared) {
    id = next_event_++;
    events_[id] = std::move(made);
  }
  leave(e);
  if (!file) return tl::unexpected(file.error());
  if (id == 0) return fail(status::failed, "cuIpcOpenEventHandle", "the system refused to map it");
  return event_handle{id};
}

}  // namespace sluice::backend
