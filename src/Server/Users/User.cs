namespace Kv.Server.Users;

/// <summary>Somebody whom clients can be: a name, and the rules of now.</summary>
/// <remarks>Threads: any. The rules are replaced under the lock of <see cref="UserTable"/> and read without
/// it.</remarks>
internal sealed class User(string name, UserRules rules)
{
    private UserRules _rules = rules;
    private volatile bool _isRemoved;

    /// <summary>A char for each byte, which may be any but spaces and 0.</summary>
    public string Name { get; } = name;

    // Volatile: whoever sees the reference sees the immutable rules that it refers to.
    public UserRules Rules
    {
        get => Volatile.Read(ref _rules);
        set => Volatile.Write(ref _rules, value);
    }

    /// <summary>Whether the user is no longer among those of the server. For good: who is made by the same name later
    /// is somebody else.</summary>
    // Volatile, and written before the table's version is: whoever sees the new version sees this.
    public bool IsRemoved
    {
        get => _isRemoved;
        set => _isRemoved = value;
    }

    public override string ToString() => Name;
}
