namespace Kv.Server.Dispatch;

/// <summary>What becomes of the arguments of a <see cref="LongArguments"/>.</summary>
internal enum ArgumentUse : byte
{
    Add,
    Remove,

    /// <summary>They are looked for: each has a value of the reply.</summary>
    Find,
}
