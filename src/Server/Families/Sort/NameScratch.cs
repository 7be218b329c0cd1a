using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Server.Families;

/// <summary>Native memory for one name at a time.</summary>
internal unsafe struct NameScratch : IDisposable
{
    private byte* _start;
    private int _capacity;

    /// <summary>Memory for <paramref name="bytes"/> bytes; its last content is lost.</summary>
    public Span<byte> Take(int bytes)
    {
        Debug.Assert(bytes >= 0, "a name has a length");
        if (bytes > _capacity)
        {
            Dispose();
            int capacity = Math.Max(64, bytes + (bytes / 2));
            _start = (byte*)NativeMemory.Alloc((nuint)capacity);
            _capacity = capacity;
        }

        return new Span<byte>(_start, bytes);
    }

    public void Dispose()
    {
        NativeMemory.Free(_start);
        _start = null;
        _capacity = 0;
    }
}
