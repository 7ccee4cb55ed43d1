#pragma once

#include <string_view>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// Writes a message of the recorder itself. `now`: the present, in trace time.
inline void write_message(trace::file_writer& file, trace::time_ns now, trace::severity severity,
                          std::string_view text) {
  trace::message_event message;
  message.time = now;
  message.severity = severity;
  message.text = file.intern(text);
  file.add(message);
}

}  // namespace sluice::writer
