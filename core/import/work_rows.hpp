#pragma once

#include <cstdint>
#include <string_view>

#include "core/trace/model/model.hpp"

/// Functions shared by the importers of device work. Private to core/import.
namespace sluice::importing {

/// The words under which importers count copies and memsets without a size.
inline constexpr std::string_view unknown_size_words = "copies and memsets whose size is not in the file";

/// Returns the kind of memory that a profiler's word means: "Pageable", "Pinned", "Device", "Managed", "Array", and
/// Intel's "Memory" (of the host) and "Shared". Returns `unknown` for other words, such as AMD's "Host", which means
/// any host memory.
[[nodiscard]] trace::memory_kind memory_of_word(std::string_view word);

/// Sets the direction and the memory kinds of a copy, as far as its name shows them: "Memcpy HtoD (Pageable ->
/// Device)", "Memcpy M2D (Memory -> Device)", "CopyHostToDevice", "MEMORY_COPY_HOST_TO_DEVICE".
void read_copy_name(std::string_view name, trace::transfer_event& into);

/// Sets unknown memory kinds of a copy to device memory where its direction implies that.
void fill_device_sides(trace::transfer_event& row);

/// Sets the number of blocks in a kernel's grid and the number of threads in a block.
void set_shape(trace::kernel_event& kernel_row, const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3]);

}  // namespace sluice::importing
