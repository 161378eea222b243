"""disks.py: what a disk may have after a power failure, from a trace of what was written to it.

A trace is a file that only grows: its size, once something was answered, is a moment behind all
writes and syncs that led to the answer. A disk is made for a moment and a seed. It has all that was
synced before the moment, and of what was not, whatever the seed says: the same seed makes the same
disk.

    BlockTrace  of device.c, below a file system: any sectors of the writes behind the last flush
    FileTrace   of recorder.c, the model: any pages, any size, any names
"""

import os
import random
import shutil
import struct
import subprocess

SECTOR = 4096  # of a disk, which is written whole or not at all: xfs itself does not survive less
GRAINS = [512, 4096]  # of files in the model: half of them may be worse than any disk


class Chance:
    """How much of what was not synced is on the disk: nothing, all, or any part."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.share = self.random.choice([0.0, 0.1, 0.5, 0.9, 1.0])

    def kept(self):
        return self.random.random() < self.share

    def version(self, count):
        """One of `count` versions, the last of which has all."""
        return count - 1 if self.kept() else self.random.randrange(count)


class BlockTrace:
    HEAD = struct.Struct("=QII")
    WRITE, FLUSH = 1, 2

    def __init__(self, path, image):
        """image: the disk as it was before the trace; it is changed as the trace is read."""
        self.file, self.image, self.at, self.waiting = open(path, "rb"), image, 0, []
        self.disk = os.open(image, os.O_RDWR)

    def read_until(self, moment):
        """Reads on to the moment; moments only grow."""
        while self.at < moment:
            self.file.seek(self.at)
            head = self.file.read(self.HEAD.size)
            if len(head) < self.HEAD.size:
                return
            offset, count, kind = self.HEAD.unpack(head)
            if self.at + self.HEAD.size + count > moment:
                return
            if kind == self.WRITE:
                self.waiting.append((offset, self.file.read(count)))
            else:
                for start, data in self.waiting:
                    os.pwrite(self.disk, data, start)
                self.waiting = []
            self.at += self.HEAD.size + count

    def disk_make(self, seed, target):
        """A disk without power at the moment; returns how many writes were not flushed."""
        chance = Chance(seed)
        subprocess.run(["cp", "--sparse=always", self.image, target], check=True)
        whole = chance.random.random() < 0.5  # writes are kept whole, or sector by sector
        disk = os.open(target, os.O_RDWR)
        for offset, data in self.waiting:
            all_kept, done = chance.kept(), 0
            while done < len(data):
                count = min(len(data) - done, SECTOR - (offset + done) % SECTOR)
                if all_kept if whole else chance.kept():
                    os.pwrite(disk, data[done:done + count], offset + done)
                done += count
        os.close(disk)
        return len(self.waiting)

    def close(self):
        self.file.close()
        os.close(self.disk)


class File:
    """A file of the model: what is on disk, and what was written since."""

    def __init__(self, data=b""):
        self.synced, self.waiting = bytearray(data), []

    @staticmethod
    def change(content, offset, data):
        """data None: cut, or made longer, to `offset`."""
        if data is None:
            del content[offset:]
            content.extend(bytes(offset - len(content)))
            return
        content.extend(bytes(max(0, offset - len(content))))
        content[offset:offset + len(data)] = data

    def sync(self, begun):
        """Whatever was written before that place of the trace is on disk."""
        for at, offset, data in self.waiting:
            if at < begun:
                self.change(self.synced, offset, data)
        self.waiting = [change for change in self.waiting if change[0] >= begun]

    def content(self, chance):
        """The file after a power failure: each page as it was at some time since the sync, or, half of the
        time, each sector; a size that it had since then."""
        if not self.waiting:
            return self.synced
        grain = chance.random.choice(GRAINS)
        sizes, content, versions = [len(self.synced)], bytearray(self.synced), {}
        for _, offset, data in self.waiting:
            before = len(content)
            self.change(content, offset, data)
            sizes.append(len(content))
            first = min(before, offset)
            last = max(before, offset if data is None else offset + len(data))
            for start in range(first // grain * grain, last, grain):
                was = [self.synced[start:start + grain]]
                versions.setdefault(start, was).append(content[start:start + grain])
        size = sizes[chance.version(len(sizes))]
        result = bytearray(self.synced[:size]).ljust(size, b"\0")
        for start in sorted(versions):
            page = versions[start][chance.version(len(versions[start]))].ljust(grain, b"\0")
            self.change(result, start, page)
        return result[:size].ljust(size, b"\0")


class FileTrace:
    HEAD = struct.Struct("=IIIIQQQq")
    CREATE, WRITE, TRUNCATE, SYNC, FOLDER, LINK, RENAME, REMOVE = range(1, 9)

    def __init__(self, path, root, base=None):
        """root: the number of the recorded folder; base: the folder as it was before the trace."""
        self.file, self.at = open(path, "rb"), 0
        self.files, self.folders, self.waiting = {}, {}, []
        self.ids, self.root = {}, 0  # a number may be another file's later: each file has an id
        self.folders[self.id_create(root)] = {}
        if base:
            self.read_base(base, self.root)

    def id_create(self, number):
        self.ids[number] = len(self.files) + len(self.folders)
        return self.ids[number]

    def read_base(self, path, folder):
        for entry in os.scandir(path):
            child = self.folders[folder][entry.name.encode()] = self.id_create(entry.inode())
            if entry.is_dir(follow_symlinks=False):
                self.folders[child] = {}
                self.read_base(entry.path, child)
            else:
                with open(entry.path, "rb") as file:
                    self.files[child] = File(file.read())

    def read_until(self, moment):
        while self.at < moment:
            self.file.seek(self.at)
            head = self.file.read(self.HEAD.size)
            if len(head) < self.HEAD.size:
                return
            kind, first, second, count, number, folder, other, offset = self.HEAD.unpack(head)
            size = self.HEAD.size + first + second + count
            if self.at + size > moment:
                return
            names = self.file.read(first), self.file.read(second)
            self.take(kind, number, (folder, names[0]), (other, names[1]), offset, self.file.read(count))
            self.at += size

    def take(self, kind, number, name, second, offset, data):
        if kind in (self.CREATE, self.FOLDER):
            made = self.id_create(number)
            if kind == self.CREATE:
                self.files[made] = File()
            else:
                self.folders[made] = {}
        file, name, second = self.ids.get(number), self.named(name), self.named(second)
        if kind in (self.CREATE, self.FOLDER):
            self.waiting.append((self.at, [(name, file)]))
        elif kind == self.LINK:
            self.waiting.append((self.at, [(second, file)]))
        elif kind == self.RENAME:
            self.waiting.append((self.at, [(name, None), (second, file)]))
        elif kind == self.REMOVE:
            self.waiting.append((self.at, [(name, None)]))
        elif kind == self.SYNC and file in self.folders:
            self.names_sync(file, offset)
        elif kind == self.SYNC:
            self.files[file].sync(offset)
        else:
            self.files[file].waiting.append((self.at, offset, data if kind == self.WRITE else None))

    def named(self, name):
        return self.ids.get(name[0]), name[1]

    def names_sync(self, folder, begun):
        """A folder was synced: the changes that touch it, from before that place of the trace, are on disk, and
        with them earlier ones of the same names elsewhere."""
        synced, names, places = [], set(), set()
        for at, change in reversed(self.waiting):
            if at < begun and any(name[0] == folder or name in names for name, _ in change):
                synced.append(change)
                places.add(at)
                names.update(name for name, _ in change)
        for change in reversed(synced):
            self.names_apply(self.folders, change)
        self.waiting = [waiting for waiting in self.waiting if waiting[0] not in places]

    @staticmethod
    def names_apply(folders, change):
        for (folder, name), number in change:
            if number is None:
                folders[folder].pop(name, None)
            else:
                folders[folder][name] = number

    def disk_make(self, seed, target):
        """The folder after a power failure, at `target`; returns how much was not synced."""
        chance = Chance(seed)
        shutil.rmtree(target, ignore_errors=True)
        folders = {number: dict(names) for number, names in self.folders.items()}
        in_order = chance.random.random() < 0.5  # as a journal: the first of them; else any
        kept = [chance.kept() for _ in self.waiting]
        if in_order:
            count = chance.version(len(kept) + 1)
            kept = [i < count for i in range(len(kept))]
        stayed = set()  # folders whose own name did not change on the disk: what followed inside did not either
        for (_, change), keep in zip(self.waiting, kept):
            if keep and not any(name[0] in stayed for name, _ in change):
                self.names_apply(folders, change)
            else:
                stayed.update(number for _, number in change if number in folders)
        self.write(folders, self.root, target, chance)
        return len(self.waiting) + sum(len(file.waiting) for file in self.files.values())

    def write(self, folders, number, path, chance):
        os.mkdir(path, 0o700)
        for name in sorted(folders[number]):
            child, below = folders[number][name], os.path.join(path, os.fsdecode(name))
            if child in self.files:
                with open(below, "wb") as file:
                    file.write(self.files[child].content(chance))
            else:
                self.write(folders, child, below, chance)

    def close(self):
        self.file.close()
