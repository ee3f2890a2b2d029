// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/driver.hpp"
#include "base/need.hpp"
#include "radio/file/file_sink.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd::radio {

/// Why a port cannot go into a file of this name; empty if it can: streams of samples into SigMF (NAME,
/// NAME.sigmf-meta, NAME.sigmf), WAV and raw files (NAME.cu8, NAME.cs16, NAME.raw with `format` …), any port into
/// NAME.npy.
std::string unrecordable(const FileSinkSettings& settings, const PortFormat& port);

/// A sink for the file of this name. Throws SetupError if the port cannot go there, if the file cannot be created, or
/// if it exists and must not be overwritten.
std::unique_ptr<Sink> open_recording_sink(const FileSinkSettings& settings, const PortFormat& port);

/// The memory and descriptors that it needs.
Need recording_sink_need(const FileSinkSettings& settings, const PortFormat& port);

}  // namespace iqd::radio
