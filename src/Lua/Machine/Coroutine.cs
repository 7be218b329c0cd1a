using System.Diagnostics;

namespace Kv.Lua;

internal enum CoroutineStatus
{
    Suspended,
    Running,

    /// <summary>It has resumed another.</summary>
    Normal,
    Dead,
}

/// <summary>A stack of values and frames: the script's own, or one that the script has made.</summary>
/// <remarks>Threads: one machine's.</remarks>
internal sealed class Coroutine
{
    public const int OverheadBytes = 120;

    private const int FirstValues = 64, FirstFrames = 8, ValueBytes = 16, FrameBytes = 48;
    private const int KeptValues = 4 * FirstValues, KeptFrames = 4 * FirstFrames;

    /// <summary>Values that a host's function may push without asking.</summary>
    public const int Spare = 40;

    private readonly MemoryAccount _account;

    public Coroutine(MemoryAccount account)
    {
        _account = account;
        account.Charge(Bytes);
        Stack.AsSpan().Fill(LuaValue.Nil);
    }

    public LuaValue[] Stack = new LuaValue[FirstValues];
    public Frame[] Frames = new Frame[FirstFrames];

    /// <summary>Frames in use.</summary>
    public int Depth;

    /// <summary>One past the last of a number of values that only the machine knows.</summary>
    public int Top;

    /// <summary>One past the last value that is in use, where that is above all that frames know of.</summary>
    public int HeldEnd;

    public CoroutineStatus Status;

    /// <summary>Who goes on when this one yields or ends.</summary>
    public Coroutine? Resumer;

    /// <summary>How many wait for this one, one for the other.</summary>
    public int Level;

    /// <summary>The last memory walk that has seen it.</summary>
    public int Walk;

    public long Bytes => OverheadBytes + ((long)Stack.Length * ValueBytes) + ((long)Frames.Length * FrameBytes);

    /// <summary>Makes it as new for the next script, unless it has grown much. Only of the script's own coroutine,
    /// which no value refers to.</summary>
    /// <remarks>The values become numbers, which is what a new array has: nobody reads a place that was not written,
    /// since a place that was used before has anything, too. Writing nil to all of them takes a write barrier
    /// each.</remarks>
    public bool TryReuse()
    {
        if (Stack.Length > KeptValues || Frames.Length > KeptFrames) return false;
        Array.Clear(Stack);
        Array.Clear(Frames, 0, Depth);      // those above were cleared when they ended
        Resumer = null;
        (Depth, Top, Level, Status) = (0, 0, 0, CoroutineStatus.Running);
        return true;
    }

    /// <summary>Makes room for values up to a place.</summary>
    public void EnsureStack(int end)
    {
        if (end > Stack.Length) GrowStack(end);
    }

    private void GrowStack(int end)
    {
        Debug.Assert(end > Stack.Length, "there is no room");
        if (end > LuaLimits.StackMax) throw new LuaException("stack overflow") { WantsPlace = true };
        int size = Math.Max(Stack.Length * 2, end + Spare);
        _account.Charge((long)(size - Stack.Length) * ValueBytes);
        int old = Stack.Length;
        Array.Resize(ref Stack, size);
        Stack.AsSpan(old).Fill(LuaValue.Nil);
    }

    /// <summary>A new frame on top.</summary>
    public ref Frame Push()
    {
        if (Depth == Frames.Length) GrowFrames();
        return ref Frames[Depth++];
    }

    private void GrowFrames()
    {
        if (Depth >= LuaLimits.CallDepthMax) throw new LuaException("stack overflow") { WantsPlace = true };
        _account.Charge((long)Frames.Length * FrameBytes);
        Array.Resize(ref Frames, Frames.Length * 2);
    }

    /// <summary>Takes the last frame away; what it held is not kept alive by it.</summary>
    public void Pop()
    {
        Debug.Assert(Depth > 0, "there is a frame");
        ref Frame frame = ref Frames[--Depth];
        frame.Closure = null;
        frame.Continuation = null;
    }

    public void Visit(MemoryWalk walk)
    {
        // What is above the last frame is left over: it is cleared, so that it is not kept alive.
        int end = Math.Max(Top, HeldEnd);
        for (int i = 0; i < Depth; i++)
        {
            ref Frame frame = ref Frames[i];
            if (frame.Closure is { } closure) end = Math.Max(end, frame.Base + closure.Prototype.Registers);
            end = Math.Max(end, frame.Base + 1);
            if (frame.Closure != null) walk.Visit(new LuaValue(frame.Closure));
            frame.Continuation?.Visit(walk);
        }

        end = Math.Min(Stack.Length, end + Spare);
        foreach (ref LuaValue value in Stack.AsSpan(0, end)) walk.Visit(value);
        Stack.AsSpan(end).Fill(LuaValue.Nil);
        if (Resumer != null) walk.Visit(new LuaValue(Resumer));
        HeldEnd = 0;
    }

    public override string ToString() =>
        $"thread: 0x{System.Runtime.CompilerServices.RuntimeHelpers.GetHashCode(this):x8}";
}
