namespace Kv.Server.Execution;

/// <summary>What a <see cref="LongCommand"/> does.</summary>
internal enum LongKind : byte
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
