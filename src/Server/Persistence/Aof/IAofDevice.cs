namespace Kv.Server.Persistence.Aof;

/// <summary>The disk, as the append-only file uses it: one that exists, and those that fail or lose power in
/// tests.</summary>
/// <remarks>Threads: any. What goes wrong is an <see cref="IOException"/>, or an
/// <see cref="UnauthorizedAccessException"/>.</remarks>
internal interface IAofDevice
{
    /// <summary>Makes a folder, unless it is there.</summary>
    void MakeFolder(string folder);

    bool Exists(string path);

    /// <summary>The names of the files in a folder; none if there is no such folder.</summary>
    IReadOnlyList<string> NamesIn(string folder);

    /// <summary>Opens a file from its first byte.</summary>
    Stream OpenRead(string path);

    /// <summary>Opens a file to be appended to. One that is not there is made.</summary>
    IAofFile OpenAppend(string path);

    /// <summary>Gives a file another name, in the place of what has it.</summary>
    void Move(string from, string to);

    void Delete(string path);

    /// <summary>Waits until the names in a folder are on the disk.</summary>
    void SyncFolder(string folder);
}

/// <summary>A file that is appended to.</summary>
/// <remarks>Threads: one writes; <see cref="Sync"/> may be called by another meanwhile.</remarks>
internal interface IAofFile : IDisposable
{
    long Length { get; }

    /// <summary>Appends all of it; after an exception, a part of it may be there.</summary>
    void Write(ReadOnlySpan<byte> bytes);

    /// <summary>Waits until all that was written before is on the disk. After an exception it may never get
    /// there.</summary>
    void Sync();

    /// <summary>Cuts off what is after a length.</summary>
    void Cut(long length);
}
