namespace Kv.Storage;

/// <summary>A place on the earth, in degrees.</summary>
/// <param name="Longitude">From -180 to 180, east.</param>
/// <param name="Latitude">From -85.05112878 to 85.05112878, north.</param>
public readonly record struct GeoPlace(double Longitude, double Latitude);
