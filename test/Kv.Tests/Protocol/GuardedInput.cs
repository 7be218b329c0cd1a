using System.Runtime.InteropServices;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

//   ... | input bytes | 64 bytes of padding | page that cannot be read
//                                           ^ a read past the padding ends the process

/// <summary>An input buffer whose padding ends at an inaccessible page, so that over-reading cannot go
/// unnoticed.</summary>
internal sealed unsafe partial class GuardedInput : IDisposable
{
    private const int PageBytes = 4096;
    private const int ReadWrite = 3, None = 0, PrivateAnonymous = 0x22;

    private readonly byte* _pages;
    private readonly nuint _pagesBytes;
    private readonly byte* _end;

    public GuardedInput(int capacity)
    {
        Capacity = capacity;
        nuint used = (nuint)((capacity + CommandParser.PaddingBytes + PageBytes - 1) / PageBytes * PageBytes);
        _pagesBytes = used + PageBytes;
        _pages = (byte*)mmap(null, _pagesBytes, ReadWrite, PrivateAnonymous, -1, 0);
        if ((nint)_pages == -1) throw new InvalidOperationException("mmap failed");
        _end = _pages + used;
        if (mprotect(_end, PageBytes, None) != 0) throw new InvalidOperationException("mprotect failed");
    }

    public int Capacity { get; }

    /// <summary>Places bytes so that exactly the padding lies between them and the guard page.</summary>
    /// <param name="bytes">The input.</param>
    /// <param name="beyond">What the padding holds: stale bytes of an earlier receive. Repeated as needed.</param>
    public byte* Place(ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> beyond = default)
    {
        byte* start = _end - CommandParser.PaddingBytes - bytes.Length;
        bytes.CopyTo(new Span<byte>(start, bytes.Length));
        var padding = new Span<byte>(start + bytes.Length, CommandParser.PaddingBytes);
        for (int index = 0; index < padding.Length; index++)
            padding[index] = beyond.Length == 0 ? (byte)0 : beyond[index % beyond.Length];
        return start;
    }

    /// <summary>Places bytes right before the guard page: not one byte too much may be read.</summary>
    public Span<byte> PlaceAtPage(ReadOnlySpan<byte> bytes)
    {
        var place = new Span<byte>(_end - bytes.Length, bytes.Length);
        bytes.CopyTo(place);
        return place;
    }

    public void Dispose() => munmap(_pages, _pagesBytes);

    [LibraryImport("libc")]
    private static partial void* mmap(void* address, nuint length, int protection, int flags, int file, nint offset);

    [LibraryImport("libc")]
    private static partial int mprotect(void* address, nuint length, int protection);

    [LibraryImport("libc")]
    private static partial int munmap(void* address, nuint length);
}
