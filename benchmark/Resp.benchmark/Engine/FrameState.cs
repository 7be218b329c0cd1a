using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>Where a session is in its replies: what of the current one is still to come. Default: between two
/// replies.</summary>
internal struct FrameState
{
    /// <summary>Frames of the current unit that have not begun; with <see cref="Body"/> and <see cref="LineEnd"/> 0 it
    /// is over.</summary>
    public long Owed;

    /// <summary>Bytes of a string's body still to come, and then of its line end.</summary>
    public long Body;

    public int LineEnd;

    /// <summary>Whether a unit has begun.</summary>
    public bool Inside;

    /// <summary>A push or attributes: passed over, no reply.</summary>
    public bool OutOfBand;

    public bool IsError, IsNil;

    /// <summary>The type of the reply, as a rule names it.</summary>
    public ReplyRule Type;

    /// <summary>The body is kept as it comes: an error's text, or what verification compares.</summary>
    public bool Gathers;
}
