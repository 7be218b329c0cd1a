using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>The database that a session's operations act on, and the databases that it has looked ahead in: hints hold
/// while both are of one table.</summary>
/// <remarks>Threads: the session's, of which it is a part.</remarks>
internal struct SelectedDatabase()
{
    private Database?[]? _selectedIn;       // null: the next one who selects is to ask whether hints hold

    /// <summary>The databases as of the start of the turn; null: nothing is looked ahead any more.</summary>
    public Database?[]? LookedAhead { get; private set; }

    /// <summary>The databases as of when it was selected.</summary>
    public Database?[] Table { get; private set; } = [];

    /// <summary>The database; null while it has no key.</summary>
    public Database? Database { get; set; }

    /// <summary>Its number.</summary>
    public int Number { get; private set; }

    /// <summary>Whether what was looked ahead is of the database.</summary>
    public bool HintsHold { get; private set; }

    /// <summary>Begins a turn, in which others' databases may be looked ahead in.</summary>
    public void BeginTurn(Database?[] table)
    {
        LookedAhead = table;
        _selectedIn = null;
    }

    /// <summary>What was looked ahead is void.</summary>
    public void Forget()
    {
        LookedAhead = _selectedIn = null;
        HintsHold = false;
    }

    /// <summary>Has the next one who selects look at the databases again.</summary>
    public void Doubt() => _selectedIn = null;

    /// <summary>Whether that is what is selected.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool Is(Database?[] table, int number) => table == _selectedIn && number == Number;

    /// <summary>Selects a number in a table.</summary>
    public void Set(Database?[] table, int number)
    {
        HintsHold = table == LookedAhead;
        _selectedIn = Table = table;
        Database = table[number];
        Number = number;
    }

    /// <summary>Selects a database without a number.</summary>
    public void Use(Database database)
    {
        Table = [];
        _selectedIn = null;
        Database = database;
    }
}
