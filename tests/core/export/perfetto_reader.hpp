#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace sluice::exports {

/// A Perfetto trace, decoded as Perfetto's own reader does: packets are sorted by time, and packets with equal times
/// stay in file order.
struct perfetto {
  struct slice {
    std::string name, track;
    std::uint64_t begin = 0, end = 0;
    std::size_t depth = 0;
  };
  struct track {
    std::string name;
    std::uint64_t parent = 0, unit = 0;
    bool counter = false;
  };
  std::map<std::uint64_t, track> tracks;
  std::vector<slice> slices;
  std::vector<std::pair<std::string, std::string>> arrows;  ///< Names of the two slices that each arrow connects.
  std::map<std::string, std::vector<double>> counters;
  std::vector<std::string> instants;
  std::map<std::uint32_t, std::uint64_t> clocks;
  std::size_t loose_ends = 0, loose_arrows = 0;

  explicit perfetto(const std::string& bytes) {
    struct timed {
      std::uint64_t time = 0;
      std::string event;
    };
    std::vector<timed> events;
    protozero::pbf_reader trace(bytes);
    while (trace.next(1)) {
      protozero::pbf_reader packet = trace.get_message();
      timed now;
      while (packet.next()) {
        switch (packet.tag()) {
          case 6:
            read_clocks(packet.get_message());
            break;
          case 8:
            now.time = packet.get_uint64();
            break;
          case 11:
            now.event = packet.get_bytes();
            break;
          case 12:
            read_names(packet.get_message());
            break;
          case 60:
            read_track(packet.get_message());
            break;
          default:
            packet.skip();
        }
      }
      if (!now.event.empty()) events.push_back(now);
    }
    std::stable_sort(events.begin(), events.end(), [](const timed& a, const timed& b) { return a.time < b.time; });
    for (const timed& each : events) read_event(each.time, protozero::pbf_reader(each.event));
  }

  [[nodiscard]] const slice* find(std::string_view name) const {
    for (const slice& each : slices)
      if (each.name == name) return &each;
    return nullptr;
  }

 private:
  void read_clocks(protozero::pbf_reader snapshot) {
    while (snapshot.next()) {
      if (snapshot.tag() != 1) {
        snapshot.skip();
        continue;
      }
      protozero::pbf_reader clock = snapshot.get_message();
      std::uint32_t id = 0;
      while (clock.next()) {
        if (clock.tag() == 1)
          id = clock.get_uint32();
        else
          clocks[id] = clock.get_uint64();
      }
    }
  }
  void read_names(protozero::pbf_reader data) {
    while (data.next()) {
      const auto kind = data.tag();
      protozero::pbf_reader entry = data.get_message();
      std::uint64_t id = 0;
      while (entry.next()) {
        if (entry.tag() == 1)
          id = entry.get_uint64();
        else
          names_[{kind, id}] = entry.get_string();
      }
    }
  }
  void read_track(protozero::pbf_reader about) {
    std::uint64_t id = 0;
    track output;
    while (about.next()) {
      switch (about.tag()) {
        case 1:
          id = about.get_uint64();
          break;
        case 2:
          output.name = about.get_string();
          break;
        case 3:
        case 4: {
          const bool process = about.tag() == 3;
          protozero::pbf_reader part = about.get_message();
          while (part.next()) {
            if (part.tag() == (process ? 6U : 5U))
              output.name = part.get_string();
            else
              part.skip();
          }
          break;
        }
        case 5:
          output.parent = about.get_uint64();
          break;
        case 8: {
          output.counter = true;
          protozero::pbf_reader counter = about.get_message();
          while (counter.next(3)) output.unit = static_cast<std::uint64_t>(counter.get_enum());
          break;
        }
        default:
          about.skip();
      }
    }
    EXPECT_TRUE(tracks.try_emplace(id, output).second) << "a track is described twice: " << output.name;
  }
  void read_event(std::uint64_t time, protozero::pbf_reader event) {
    std::uint64_t type = 0, id = 0;
    slice new_slice;
    double value = 0;
    while (event.next()) {
      switch (event.tag()) {
        case 9:
          type = static_cast<std::uint64_t>(event.get_enum());
          break;
        case 10:
          new_slice.name = names_.at({2, event.get_uint64()});
          break;
        case 11:
          id = event.get_uint64();
          break;
        case 30:
          value = static_cast<double>(event.get_int64());
          break;
        case 44:
          value = event.get_double();
          break;
        case 6:
          read_legacy(event.get_message(), new_slice);
          break;
        case 47:
          flows_[event.get_fixed64()] = new_slice.name;
          break;
        case 48:
          end_arrow(flows_, event.get_fixed64(), new_slice.name, true);
          break;
        default:
          event.skip();
      }
    }
    ASSERT_TRUE(tracks.contains(id)) << "an event on a track without a description";
    new_slice.track = tracks[id].name;
    new_slice.begin = time;
    std::vector<std::size_t>& open = open_[id];
    if (type == 1) {
      new_slice.depth = open.size();
      open.push_back(slices.size());
      slices.push_back(new_slice);
    } else if (type == 2) {
      if (open.empty()) {
        ++loose_ends;
        return;
      }
      slices[open.back()].end = time;
      open.pop_back();
    } else if (type == 3) {
      instants.push_back(new_slice.name);
    } else {
      counters[new_slice.track].push_back(value);
    }
  }

  /// As Perfetto does, adds an arrow from the latest "out" of flow `id` to this "in". A terminating flow also ends
  /// `id`.
  void end_arrow(std::map<std::uint64_t, std::string>& open, std::uint64_t id, const std::string& at, bool terminates) {
    const auto begun = open.find(id);
    if (begun == open.end()) {
      ++loose_arrows;
      return;
    }
    arrows.emplace_back(begun->second, at);
    if (terminates) open.erase(begun);
  }
  void read_legacy(protozero::pbf_reader event, const slice& at) {
    std::uint64_t id = 0, direction = 0;
    while (event.next()) {
      if (event.tag() == 8)
        id = event.get_uint64();
      else if (event.tag() == 13)
        direction = static_cast<std::uint64_t>(event.get_enum());
      else
        event.skip();
    }
    if (direction == 2)
      bound_[id] = at.name;
    else if (direction == 1)
      end_arrow(bound_, id, at.name, false);
  }

  std::map<std::uint64_t, std::string> flows_, bound_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> names_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
};

}  // namespace sluice::exports
