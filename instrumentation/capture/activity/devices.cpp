#include "instrumentation/capture/activity/devices.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "instrumentation/capture/activity/delivery.hpp"
#include "instrumentation/capture/process/state.hpp"

namespace sluice::capture {

namespace {

using namespace trace;

/// A device is announced when its DEVICE record arrives, and again with its link when the PCIE record arrives.
ring::device_record devices[max_devices];
std::atomic<bool> devices_busy{false};

std::uint64_t big_endian(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = (value << 8) | bytes[i];
  return value;
}

template <class Change>
void change_device(std::uint32_t id, Change&& change) {
  if (id >= max_devices) return;
  while (devices_busy.exchange(true, std::memory_order_acquire)) {
  }
  ring::device_record& device = devices[id];
  device.device = id;
  change(device);
  const ring::device_record copy = device;
  devices_busy.store(false, std::memory_order_release);
  if (copy.memory_bytes == 0) return;
  ring::device_record out = copy;
  out.header.time = ring::monotonic_now();
  deliver(out);
}

}  // namespace

void device_found(const layout::device_prefix& in) noexcept {
  if (in.visible == 0) return;
  change_device(in.id, [&](ring::device_record& device) {
    device.kind = raw(device_kind::cuda);
    device.uuid_high = big_endian(in.uuid);
    device.uuid_low = big_endian(in.uuid + 8);
    device.name = ring::intern(in.name);
    device.memory_bytes = in.memory_bytes;
    device.compute_major = in.compute_major;
    device.compute_minor = in.compute_minor;
  });
}

namespace {

/// Bytes/s in one direction: lanes * transfers/s, less the overhead of the line code (8b/10b up to generation 2,
/// 128b/130b up to 5, none in 6).
std::uint64_t link_peak(std::uint64_t rate, std::uint64_t width, std::uint32_t generation) {
  const std::uint64_t bits = rate * width;
  if (generation <= 2) return bits / 10;
  return generation <= 5 ? bits / 130 * 128 / 8 : bits / 8;
}

}  // namespace

void link_found(const layout::pcie_prefix& in) noexcept {
  if (in.type != 0 || in.device < 0) return;
  change_device(static_cast<std::uint32_t>(in.device), [&](ring::device_record& device) {
    device.link_generation = in.generation;
    device.link_width = in.link_width;
    device.link_peak = link_peak(in.link_rate * std::uint64_t{1'000'000}, in.link_width, in.generation);
  });
}

/// CUPTI's bandwidth is the sum of both directions. Two H200s behind NVSwitch have 18 links and report 849,960,000
/// kB/s. NVIDIA states 900 GB/s for both directions, and copies in one direction reach 350 GB/s. With several peers,
/// the fastest link counts.
void peer_link_found(const layout::nvlink_prefix& in) noexcept {
  constexpr std::uint32_t a_gpu = 1;
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  if (in.first_type != a_gpu || in.second_type != a_gpu || in.bandwidth > most) return;
  const std::uint64_t one_way = in.bandwidth * 1000 / 2;
  for (std::uint32_t id = 0; id < max_devices; ++id) {
    for (const std::uint8_t* uuid : {&in.first_uuid[0], &in.second_uuid[0]}) {
      const ring::device_record& there = devices[id];
      if (there.memory_bytes == 0 || there.uuid_high != big_endian(uuid) || there.uuid_low != big_endian(uuid + 8))
        continue;
      change_device(id, [&](ring::device_record& device) {
        if (device.peer_peak < one_way) device.peer_peak = one_way;
      });
    }
  }
}

// --- from the driver -------------------------------------------------------------------------------------------------

namespace {

std::uint32_t attribute(CUdevice_attribute which, CUdevice device) {
  int value = 0;
  const bool known =
      driver.device_attribute != nullptr && driver.device_attribute(&value, which, device) == CUDA_SUCCESS;
  return known && value > 0 ? static_cast<std::uint32_t>(value) : 0;
}

/// Reads a number from a file of the device in /sys, e.g. "32.0 GT/s PCIe" or "16".
double number_in(const char* bus, const char* name) {
  char path[128];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64] = {};
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  return count > 0 ? strtod(text, nullptr) : 0;
}

/// The PCIe generation with this rate per lane, in GT/s: 2.5, 5, 8, 16, 32, 64.
std::uint32_t get_generation(double rate) {
  std::uint32_t generation = 1;
  for (const double more : {4.0, 6.5, 12.0, 24.0, 48.0}) generation += rate > more ? 1 : 0;
  return generation;
}

void find_link(CUdevice device, ring::device_record& out) {
  char bus[32] = {};
  if (driver.device_bus == nullptr || driver.device_bus(bus, sizeof bus - 1, device) != CUDA_SUCCESS) return;
  for (char& c : bus) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const double rate = number_in(bus, "max_link_speed");
  const double width = number_in(bus, "max_link_width");
  if (rate < 1 || rate > 1000 || width < 1 || width > 64) return;
  out.link_generation = get_generation(rate);
  out.link_width = static_cast<std::uint32_t>(width);
  out.link_peak = link_peak(static_cast<std::uint64_t>(rate * 1e9), out.link_width, out.link_generation);
}

}  // namespace

void describe_device(CUdevice device) noexcept {
  const auto id = static_cast<std::uint32_t>(device);
  bool known = false;
  change_device(id, [&](const ring::device_record& so_far) { known = so_far.memory_bytes != 0; });
  if (known) return;  // The GPU was announced before, so the line above has announced it again.
  char name[128] = {};
  std::size_t bytes = 0;
  CUuuid uuid{};
  if (id >= max_devices || driver.device_name == nullptr || driver.device_memory == nullptr ||
      driver.device_name(name, sizeof name - 1, device) != CUDA_SUCCESS ||
      driver.device_memory(&bytes, device) != CUDA_SUCCESS) {
    return;
  }
  if (driver.device_uuid != nullptr) driver.device_uuid(&uuid, device);
  std::uint8_t uuid_bytes[16];
  memcpy(uuid_bytes, uuid.bytes, sizeof uuid_bytes);
  ring::device_record link{};
  find_link(device, link);
  change_device(id, [&](ring::device_record& out) {
    if (link.link_peak != 0) {
      out.link_generation = link.link_generation;
      out.link_width = link.link_width;
      out.link_peak = link.link_peak;
    }
    out.kind = raw(device_kind::cuda);
    out.uuid_high = big_endian(uuid_bytes);
    out.uuid_low = big_endian(uuid_bytes + 8);
    out.name = ring::intern(name);
    out.memory_bytes = bytes;
    out.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    out.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  });
}

}  // namespace sluice::capture
