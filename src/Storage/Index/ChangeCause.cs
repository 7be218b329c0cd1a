namespace Kv.Storage;

/// <summary>Why a key is another one from here on.</summary>
internal enum ChangeCause : byte
{
    /// <summary>It is not, to those who watch it.</summary>
    None,

    /// <summary>The session's command changes it.</summary>
    Command,

    /// <summary>Its time has passed, or that of a field: whoever comes upon that removes it, and has changed nothing
    /// themselves.</summary>
    Time,
}
