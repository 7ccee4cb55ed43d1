#include "instrumentation/backend/simulated/device/sharing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "instrumentation/backend/simulated/state/numbers.hpp"
#include "instrumentation/ring/handle_key.hpp"

namespace sluice::backend::simulated {

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

std::uint64_t read_inode(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 ? about.st_ino : 0;
}

template <class Handle>
Handle get_handle(const handle_content& content) {
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

device_result<ipc_memory_handle> sharing::export_memory(void* address) {
  if (!supported_) return fail(status::not_supported, "cuIpcGetMemHandle", "the device does not support IPC");
  driver_call call = calls_.begin("cuIpcGetMemHandle", calls_.costs().share_call);
  const auto* block = memory_.find(address);
  const bool plain = block && block->address == number(address) && block->space == memory_space::device &&
                     !block->mapping && !block->imported && !pools_.find_block(address);
  calls_.queue().run_until(call.end);
  const int file = plain ? memory_.share(address) : -1;
  ipc_memory_handle handle;
  if (file >= 0) {
    handle = get_handle<ipc_memory_handle>({memory_magic, uuid_, block->bytes, read_inode(file), getpid(), file});
    calls_.log().shared(call.recorded_end(), memory_.get_name(address),
                        ring::key_of_handle(handle.bytes.data(), handle.bytes.size()), false);
  }
  calls_.finish(call);
  if (!plain) {
    return fail(status::invalid_value, "cuIpcGetMemHandle", "only memory from `allocate` can be shared",
                native_invalid);
  }
  if (file < 0) return fail(status::failed, "cuIpcGetMemHandle", "the system refused the shared memory");
  return handle;
}

device_result<void*> sharing::import_memory(const ipc_memory_handle& handle) {
  driver_call call = calls_.begin("cuIpcOpenMemHandle_v2", calls_.costs().import_call);
  const std::string known(reinterpret_cast<const char*>(handle.bytes.data()), handle.bytes.size());
  if (const auto it = imported_.find(known); it != imported_.end()) {
    ++imports_[it->second];
    calls_.finish(call);
    return reinterpret_cast<void*>(it->second);
  }
  handle_content content;
  std::memcpy(&content, handle.bytes.data(), sizeof content);
  const auto file = open_handle(content, memory_magic, uuid_, "cuIpcOpenMemHandle");
  void* address = file ? memory_.import(*file, content.bytes) : nullptr;
  if (file) close(*file);  // the mapping keeps the file alive
  const std::uint64_t end = call.recorded_end();
  calls_.log().api_call(call, end, 0, content.bytes, 0, 0, address ? 0 : native_invalid);
  if (address) {
    imported_[known] = imports_.emplace(number(address), 1).first->first;
    calls_.log().allocated(call, end,
                           {memory_.get_name(address), content.bytes, 0, 0, trace::memory_kind::device,
                            ring::flag_ipc | ring::flag_shared});
    calls_.log().shared(end, memory_.get_name(address), ring::key_of_handle(handle.bytes.data(), handle.bytes.size()),
                        true);
  }
  calls_.finish(call);
  if (!file) return tl::unexpected(file.error());
  if (!address) return fail(status::out_of_memory, "cuIpcOpenMemHandle", "the address space is exhausted");
  return address;
}

device_result<void> sharing::close_memory(void* address) {
  driver_call call = calls_.begin("cuIpcCloseMemHandle", calls_.costs().import_call);
  const auto it = imports_.find(number(address));
  if (it == imports_.end()) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuIpcCloseMemHandle", "the address is not the start of an imported block",
                native_invalid);
  }
  calls_.log().api_call(call, call.recorded_end(), 0);
  if (--it->second == 0) {
    call.end = std::max(call.end, streams_.idle_at());
    calls_.queue().run_until(call.end);
    calls_.log().freed(call, {memory_.get_name(address), 0, 0, 0, trace::memory_kind::device, ring::flag_ipc});
    std::erase_if(imported_, [&](const auto& known) { return known.second == it->first; });
    imports_.erase(it);
    memory_.free(address);
  }
  calls_.finish(call);
  return {};
}

device_result<ipc_event_handle> sharing::export_event(event_handle event) {
  const auto lock = calls_.lock();
  const event_state* state = events_.find(event);
  if (!state || !state->shared) {
    return fail(status::invalid_value, "cuIpcGetEventHandle", "not an interprocess event", native_invalid);
  }
  const int file = state->shared->file();
  return get_handle<ipc_event_handle>({event_magic, uuid_, shared_event::bytes, read_inode(file), getpid(), file});
}

device_result<event_handle> sharing::import_event(const ipc_event_handle& handle) {
  driver_call call = calls_.begin_unrecorded("cuIpcOpenEventHandle", calls_.costs().share_call);
  handle_content content;
  std::memcpy(&content, handle.bytes.data(), sizeof content);
  const auto file = open_handle(content, event_magic, uuid_, "cuIpcOpenEventHandle");
  event_state state;
  if (file) state.shared = shared_event::open(*file);
  const event_handle event = state.shared ? events_.add(std::move(state)) : event_handle::null;
  calls_.finish(call);
  if (!file) return tl::unexpected(file.error());
  if (event == event_handle::null) return fail(status::failed, "cuIpcOpenEventHandle", "the system refused to map it");
  return event;
}

}  // namespace sluice::backend::simulated
