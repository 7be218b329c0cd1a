using Kv.Protocol;
using Kv.Server.Sessions;

namespace Kv.Server.Dispatch;

/// <summary>One session of the group of a <see cref="CommandWindow"/>, and how far its input has come.</summary>
internal unsafe struct WindowInput
{
    public Session Session;
    public byte* Start;
    public int Length;

    /// <summary>Behind the last command that was run.</summary>
    public int Position;

    /// <summary>Behind the last command that was parsed.</summary>
    public int Parsed;

    public int OutputStart;
    public int OutputEnd;
    public ParseStatus Error;

    /// <summary>Nothing more is run in this turn.</summary>
    public bool Stopped;
}
