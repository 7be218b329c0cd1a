using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RespBenchmark.Workload;

/// <summary>A field at work for one loop. What is drawn is one number; the text is a function of it alone (and of the
/// unit's other draws), so that a command can be written in pieces, and once more.</summary>
/// <remarks>Threads: its loop's only.</remarks>
internal abstract class FieldWriter
{
    /// <summary>The next command's.</summary>
    /// <param name="drawn">The draws of the unit so far, by place.</param>
    public abstract long Draw(ref SessionStream session, ReadOnlySpan<long> drawn);

    /// <summary>Those of the next commands, of a free field: the same as so many calls of <see cref="Draw"/>.</summary>
    public virtual void DrawColumn(ref SessionStream session, Span<long> column)
    {
        foreach (ref long draw in column) draw = Draw(ref session, default);
    }

    /// <summary>The bytes that its text takes.</summary>
    public abstract long WidthOf(long draw, ReadOnlySpan<long> drawn);

    /// <summary>Writes the text from its byte <paramref name="from"/> on, as much as there is room for.</summary>
    /// <param name="to">Not longer than what is left of the text; all of it where the width is at most
    /// <see cref="SmallBytes"/>.</param>
    public abstract void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to);

    /// <summary>Writes a free field of constant width into many commands.</summary>
    public virtual void WriteColumn(ReadOnlySpan<long> column, ref byte first, nint stride, int width)
    {
        foreach (long draw in column)
        {
            Write(draw, default, 0, MemoryMarshal.CreateSpan(ref first, width));
            first = ref Unsafe.Add(ref first, stride);
        }
    }

    /// <summary>A text of up to so many bytes is never cut.</summary>
    public const int SmallBytes = 4096;
}
