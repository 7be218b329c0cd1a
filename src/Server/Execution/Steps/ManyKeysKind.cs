namespace Kv.Server.Execution;

/// <summary>What a <see cref="ManyKeysCommand"/> does.</summary>
internal enum ManyKeysKind : byte
{
    /// <summary>MGET.</summary>
    GetAll,

    /// <summary>EXISTS, TOUCH.</summary>
    Count,

    /// <summary>PFCOUNT.</summary>
    CountDistinct,

    /// <summary>MSET.</summary>
    SetAll,

    /// <summary>MSETNX.</summary>
    SetAllIfNoneExists,

    /// <summary>DEL, UNLINK.</summary>
    DeleteAll,
}
