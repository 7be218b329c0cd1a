namespace Kv.Storage;

/// <summary>Whether there is room for what a writer brings.</summary>
public enum StoreRoom : byte
{
    /// <summary>Less is in use than allowed.</summary>
    Free,

    /// <summary>More is in use than allowed, but perhaps some of it is dead, and is being given back: ask again,
    /// outside of a turn (<see cref="Store.WaitForRoom"/>).</summary>
    Soon,

    /// <summary>More is in use than allowed, and nothing can be given back.</summary>
    Full,
}
