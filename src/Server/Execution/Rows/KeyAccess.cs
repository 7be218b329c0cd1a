namespace Kv.Server.Execution;

/// <summary>What a command does with the keys that a <see cref="KeySpec"/> finds. The names are those of COMMAND
/// INFO.</summary>
/// <remarks>One of the first four says what happens to the record, the next four what happens to the data in
/// it.</remarks>
[Flags]
internal enum KeyAccess
{
    None = 0,

    /// <summary>Reads the value and does not change it.</summary>
    RO = 1 << 0,

    /// <summary>Changes a value that is there.</summary>
    RW = 1 << 1,

    /// <summary>Puts a value in the place of what was there, whatever it was.</summary>
    OW = 1 << 2,

    /// <summary>Removes the key.</summary>
    RM = 1 << 3,

    /// <summary>Gives data of the user back, copies it, or depends on it; lengths and types are not data.</summary>
    Access = 1 << 4,

    /// <summary>Changes data that is there.</summary>
    Update = 1 << 5,

    /// <summary>Adds data and leaves what was there alone.</summary>
    Insert = 1 << 6,

    /// <summary>Removes some or all of the data.</summary>
    Delete = 1 << 7,

    /// <summary>Names a shard like a key does, but is none (a shard channel).</summary>
    NotKey = 1 << 8,

    /// <summary>The command may have keys that this spec does not find.</summary>
    Incomplete = 1 << 9,

    /// <summary>What happens to the key depends on other arguments; this is the most it may be.</summary>
    VariableFlags = 1 << 10,

    ReadOnly = RO,
    ReadWrite = RW,
    Overwrite = OW,
    Remove = RM,
}
