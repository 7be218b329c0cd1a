namespace RespBenchmark.Workload;

/// <summary>What varies in a command from one sending to the next: a key's number, a value. Immutable, for all
/// loops.</summary>
internal abstract class Field
{
    /// <summary>The bytes it takes; −1: they vary.</summary>
    public abstract int Width { get; }

    /// <summary>The most it can take.</summary>
    public abstract long WidthMax { get; }

    /// <summary>Whether its draws depend on nothing but its own generator and session, so that many can be made at
    /// once.</summary>
    public virtual bool IsFree => true;

    /// <summary>Whether its draw is the number of the command's key, which replies are verified by.</summary>
    public bool IsKey { get; init; }

    /// <summary>The same at work for one loop.</summary>
    /// <param name="stream">The number of the field in the workload: a stream of draws of its own.</param>
    /// <param name="unit">The fields before it in its unit.</param>
    public abstract FieldWriter Open(in Seat seat, int stream, UnitFields unit);
}

/// <summary>The opened fields of a unit, in the order of their places.</summary>
internal sealed class UnitFields
{
    private readonly List<(Field Field, FieldWriter Writer)> _places = [];

    public int Count => _places.Count;

    public void Add(Field field, FieldWriter writer) => _places.Add((field, writer));

    /// <summary>Where the latest draw of a field is found, and who writes it.</summary>
    public (int Place, FieldWriter Writer) Find(Field field)
    {
        int place = _places.FindLastIndex(candidate => ReferenceEquals(candidate.Field, field));
        return place >= 0
            ? (place, _places[place].Writer)
            : throw new InvalidOperationException("a field refers to one that its unit has not drawn");
    }
}
