#pragma once

#include <cstdint>
#include <string_view>

#include "core/trace/model/model.hpp"

/// What importers of work on devices have in common. Private to core/import.
namespace sluice::importing {

/// Said of a copy or memset without a size.
inline constexpr std::string_view unknown_size_words = "copies and memsets whose size is not in the file";

/// The memory that a profiler's word stands for: "Pageable", "Pinned", "Device", "Managed", "Array", and Intel's
/// "Memory" (of the host's system) and "Shared". Unknown for others: AMD's "Host" is any memory of the host.
[[nodiscard]] trace::memory_kind memory_of_word(std::string_view word);

/// Sets direction and sides of a copy from its name, where it tells them: "Memcpy HtoD (Pageable -> Device)",
/// "Memcpy M2D (Memory -> Device)", "CopyHostToDevice", "MEMORY_COPY_HOST_TO_DEVICE".
void read_copy_name(std::string_view name, trace::transfer_event& into);

/// Sets the sides that the direction says are a device's memory, where they are unknown.
void fill_device_sides(trace::transfer_event& of);

/// Sets a kernel's blocks in the grid and threads in a block.
void set_shape(trace::kernel_event& of, const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3]);

}  // namespace sluice::importing
