// What a process holds, counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace crosscut::check {

class Plugin;

struct Held {
  int64_t resident = 0;  // bytes
  int64_t heap = 0;      // bytes that malloc has given out
  int fds = 0, threads = 0, maps = 0;
};
// The least of several readings, a session before each: what a session has in flight is in some of
// them, what leaked is in all. Takes a second and a session at most.
Held WhatStays(Plugin* plugin);
// Findings "<id>.memory", ".fds", ".threads", ".maps" where something grew from [0] to [1] and
// again from [1] to [2], in so many sessions.
void CompareHeld(const std::string& id, const Held (&at)[3], int64_t cycles);
int CountThreads();
// Entries of a folder, without . and ..; 0 where it cannot be read.
int CountEntries(const char* folder);
// Memory that forks of this process share with it. Never freed.
void* SharedMemory(size_t bytes);

}  // namespace crosscut::check
