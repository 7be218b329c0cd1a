using Kv.Protocol;
using Kv.Server.Sessions;

namespace Kv.Server.Execution;

/// <summary>One session of the group of a <see cref="CommandWindow"/>, and how far its input has come.</summary>
internal unsafe struct WindowInput
{
    public Session Session;
    public byte* Start;
    public int Length;

    /// <summary>The end of the last command that was run.</summary>
    public int Position;

    /// <summary>The end of the last command that was parsed, or of what was taken out of the input of a command that
    /// has arrived in part.</summary>
    public int Parsed;

    /// <summary>Bytes that were taken of a command that has arrived in part.</summary>
    public int Taken;

    public int OutputStart;
    public int OutputEnd;
    public ParseStatus Error;

    /// <summary>Nothing more is run in this turn.</summary>
    public bool Stopped;

    /// <summary>The session's share of the turn was used up before its input was: it goes on in the next turn without
    /// new input.</summary>
    public bool HasMore;

    /// <summary>Bytes of replies that have been handed over in this turn.</summary>
    public long Sent;
}
