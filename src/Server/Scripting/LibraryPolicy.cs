namespace Kv.Server.Scripting;

/// <summary>What FUNCTION RESTORE does with the libraries that are there.</summary>
internal enum LibraryPolicy : byte
{
    /// <summary>They stay; one of the same name is an error.</summary>
    Append,

    /// <summary>They stay, but for those of the same name.</summary>
    Replace,

    /// <summary>They go.</summary>
    Flush,
}
